//! Clients over HTTP, half of them with sessions. They leave, lose connections, and come back.

use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;

use super::plan::{Expected, Plan, Planned, Verdict};
use super::tally::Tally;
use crate::support::http_client::{HttpClient, HttpReply};
use crate::support::http_request::HttpRequest;
use crate::support::message::{self, Message};
use crate::support::proxy::HttpProxy;
use crate::support::random::Random;

const CLIENTS: usize = 16;

pub async fn make(proxy: &HttpProxy, calls: usize, seed: u64, part: u64) -> Tally {
    let clients = (0..CLIENTS).map(|number| {
        let own_calls = calls / CLIENTS + usize::from(number < calls % CLIENTS);
        let number = 100 * part + number as u64;
        let plan = Plan::new(Random::new(seed, number), number * 10_000_000);
        WebClient { client: proxy.client(), plan, tally: Tally::default() }.make(own_calls, number.is_multiple_of(2))
    });
    join_all(clients).await.into_iter().fold(Tally::default(), Tally::and)
}

struct WebClient {
    client: HttpClient,
    plan: Plan,
    tally: Tally,
}

impl WebClient {
    async fn make(mut self, calls: usize, has_session: bool) -> Tally {
        if has_session {
            self.client.initialize("2025-11-25").await.result();
        }
        for _ in 0..calls {
            let planned = Planned { modern: !has_session, ..self.plan.next() };
            self.tally.calls += 1;
            if has_session {
                self.in_session(&planned).await;
            } else {
                self.alone(&planned).await;
            }
        }
        if has_session {
            assert!(self.client.delete().await < 300);
        }
        self.tally
    }

    async fn in_session(&mut self, planned: &Planned) {
        let mut reply = self.client.send(&self.client.legacy(&planned.request())).await;
        if matches!(planned.expected, Expected::Nothing) {
            let cancel =
                message::notification("notifications/cancelled", &format!(r#"{{"requestId":{}}}"#, planned.id));
            assert_eq!(self.client.send(&self.client.legacy(&cancel)).await.status, 202);
        } else if reply.is_event_stream() && self.plan.chance(15) {
            let first = reply.next_event().await.expect("a stream opens with an event to come back to");
            drop(reply);
            let last = first.id.expect("an event of a stream that can be resumed has an id");
            let resume = self.client.in_session(HttpRequest::get().header("Last-Event-ID", &last));
            reply = self.client.send(&resume).await;
            self.tally.resumed += 1;
        }
        self.settle(planned, reply).await;
    }

    async fn alone(&mut self, planned: &Planned) {
        let request =
            HttpRequest::modern_with_meta(&planned.id.to_string(), planned.method, &planned.params, &planned.meta());
        if matches!(planned.expected, Expected::Nothing) || self.plan.chance(5) {
            let connection = self.client.send_and_leave_open(&request).await;
            // No event is awaited: every moment is a good one to leave.
            tokio::time::sleep(Duration::from_millis(planned.id % 10)).await;
            drop(connection);
            self.tally.left += 1;
            return;
        }
        let reply = self.client.send(&request).await;
        self.settle(planned, reply).await;
    }

    /// Hears all of a reply, which has one answer or belongs to a cancelled call.
    async fn settle(&mut self, planned: &Planned, reply: HttpReply) {
        let (answers, progress): (Vec<Value>, Vec<Value>) =
            everything(reply).await.into_iter().partition(|message| message["method"].is_null());
        self.tally.progress += progress.iter().filter(|told| told["method"] == "notifications/progress").count();
        match answers.as_slice() {
            [] if matches!(planned.expected, Expected::Nothing) => self.tally.cancelled += 1,
            [answer] => {
                assert_eq!(answer["id"], planned.id, "{answer}");
                match planned.judge(answer) {
                    Verdict::Right => self.tally.right += 1,
                    Verdict::Error(words) => self.tally.failed(&words),
                }
            }
            _ => panic!("{planned:?} has {} answers: {answers:?}", answers.len()),
        }
    }
}

async fn everything(mut reply: HttpReply) -> Vec<Value> {
    if !reply.is_event_stream() {
        return vec![Message::new(reply.text().await).value()];
    }
    let mut messages = Vec::new();
    while let Some(message) = reply.next_message().await {
        messages.push(message.value());
    }
    messages
}
