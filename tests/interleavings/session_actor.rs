//! A client with a session: it is asked on its streams, cancels with messages, and takes lost streams up again.

use futures::FutureExt;
use futures::future::{Either, select};

use super::actor::{ABILITIES, Actor, Errand};
use super::marks::{Tally, check};
use crate::support::http_client::HttpReply;
use crate::support::http_request::HttpRequest;
use crate::support::message::{self, Message};
use crate::support::modern::with_meta;

pub struct SessionActor(Actor);

const VERSION: &str = "2025-11-25";

impl SessionActor {
    pub async fn open(mut actor: Actor) -> Self {
        actor.client.initialize_with(VERSION, ABILITIES).await.result();
        actor.client.request("logging/setLevel", r#"{"level":"debug"}"#).await.result();
        Self(actor)
    }

    pub async fn act(mut self, times: usize) -> Tally {
        let mut own_stream = self.0.client.get_stream().await;
        let mark = self.0.mark.clone();
        let listening = async {
            while let Some(message) = own_stream.next_message().await {
                check(&mark, &message);
                let method = message.method();
                assert_eq!(method.as_deref(), Some("notifications/tools/list_changed"), "{mark}: {}", message.raw);
            }
        };
        let acting = async {
            for _ in 0..times {
                self.act_once().await;
            }
        };
        match select(acting.boxed_local(), listening.boxed_local()).await {
            Either::Left(_) => {}
            Either::Right(_) => panic!("{mark}: the session's own stream ended"),
        }
        assert!(self.0.client.delete().await < 300);
        self.0.tally
    }

    async fn act_once(&mut self) {
        let tool = *self.0.random.pick(&["echo", "progress", "flood", "ask", "slow", "stall", "lost"]);
        match tool {
            "stall" => self.cancel().await,
            "lost" => self.lose_and_resume().await,
            tool => {
                let errand = self.0.errand(tool);
                let (_, mut stream) = self.begin(&errand).await;
                let response = self.until_response(&mut stream).await;
                self.0.check_result(&errand, &response.expect("every call is answered"));
            }
        }
    }

    async fn begin(&mut self, errand: &Errand) -> (String, HttpReply) {
        let (id, request) = self.request(errand);
        (id, self.0.client.send(&request).await)
    }

    fn request(&mut self, errand: &Errand) -> (String, HttpRequest) {
        let id = self.0.take_id();
        let params = with_meta(&message::call(&errand.tool, &errand.arguments.to_string()), r#"{"progressToken":"t"}"#);
        let body = message::request(&id, "tools/call", &params);
        (id, self.0.client.legacy(&body))
    }

    /// Hears and answers until the response; none if the stream ends before.
    async fn until_response(&mut self, stream: &mut HttpReply) -> Option<Message> {
        loop {
            let message = stream.next_message().await?;
            if message.is_response() {
                return Some(message);
            }
            self.0.hear(&message);
            if let Some(id) = message.id() {
                let answer = message::result(&id, &self.0.answer().to_string());
                assert_eq!(self.0.client.send(&self.0.client.legacy(&answer)).await.status, 202);
            }
        }
    }

    async fn cancel(&mut self) {
        let errand = self.0.errand("stall");
        let (id, mut stream) = self.begin(&errand).await;
        let cancel = message::notification("notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#));
        assert_eq!(self.0.client.send(&self.0.client.legacy(&cancel)).await.status, 202);
        let response = self.until_response(&mut stream).await;
        assert_eq!(response, None, "{}: a cancelled call is not answered", self.0.mark);
        self.0.tally.cancelled += 1;
    }

    /// Leaves in the middle of a call and comes back to its stream.
    async fn lose_and_resume(&mut self) {
        let errand = self.0.errand("progress");
        // Only a stream can be taken up again.
        let (_, request) = self.request(&errand);
        let mut stream = self.0.client.send(&request.with("Accept", "text/event-stream")).await;
        let mut last = None;
        for _ in 0..=self.0.random.below(4) {
            let Some(event) = stream.next_event().await else { break };
            last = event.id.or(last);
            let Some(text) = event.data.filter(|data| !data.is_empty()) else { continue };
            let message = Message::new(text);
            if message.is_response() {
                return self.0.check_result(&errand, &message);
            }
            self.0.hear(&message);
        }
        drop(stream);
        let last = last.expect("every event has an id to come back to");
        let resume = self.0.client.in_session(HttpRequest::get().header("Last-Event-ID", &last));
        let mut stream = self.0.client.send(&resume).await;
        let response = self.until_response(&mut stream).await;
        self.0.check_result(&errand, &response.expect("the answer was kept"));
        self.0.tally.resumed += 1;
    }
}
