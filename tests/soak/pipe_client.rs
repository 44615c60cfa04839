//! One client on a pipe, in both eras at once, with many calls in flight.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::plan::{Expected, Plan, Planned, Verdict};
use super::tally::Tally;
use crate::support::message;
use crate::support::stdio_client::StdioClient;

/// More than the servers take at once, so that some wait for their turn.
const IN_FLIGHT: usize = 160;

pub struct PipeClient<'a> {
    client: &'a mut StdioClient,
    plan: Plan,
    pending: HashMap<u64, Planned>,
    /// To be cancelled, when so many messages have come.
    doomed: VecDeque<(usize, u64)>,
    cancelled: HashMap<u64, Planned>,
    messages: usize,
    tally: Tally,
}

impl<'a> PipeClient<'a> {
    pub fn new(client: &'a mut StdioClient, plan: Plan) -> Self {
        let (pending, doomed, cancelled) = Default::default();
        Self { client, plan, pending, doomed, cancelled, messages: 0, tally: Tally::default() }
    }

    pub async fn make(mut self, calls: usize) -> Tally {
        while self.tally.calls < calls || !self.pending.is_empty() {
            let mut batch = String::new();
            while self.tally.calls < calls && self.pending.len() < IN_FLIGHT {
                self.begin(&mut batch);
            }
            self.cancel_doomed(&mut batch, self.tally.calls == calls);
            if !batch.is_empty() {
                self.client.send_bytes(batch.as_bytes()).await;
            }
            if !self.pending.is_empty() {
                let message = self.client.next().await;
                self.take(&message.value());
            }
        }
        self.nothing_more_comes().await;
        self.tally.cancelled += self.cancelled.len();
        self.tally
    }

    fn begin(&mut self, batch: &mut String) {
        let planned = self.plan.next();
        *batch += &planned.request();
        batch.push('\n');
        if matches!(planned.expected, Expected::Nothing) {
            self.doomed.push_back((self.messages + 40, planned.id));
        }
        self.pending.insert(planned.id, planned);
        self.tally.calls += 1;
    }

    fn cancel_doomed(&mut self, batch: &mut String, all: bool) {
        while let Some((_, id)) = self.doomed.pop_front_if(|(when, _)| all || *when <= self.messages) {
            // It may have ended with its server.
            if let Some(planned) = self.pending.remove(&id) {
                *batch += &message::notification("notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#));
                batch.push('\n');
                self.cancelled.insert(id, planned);
            }
        }
    }

    fn take(&mut self, message: &Value) {
        self.messages += 1;
        match (message["method"].as_str(), message["id"].as_u64()) {
            (Some("notifications/progress"), _) => {
                let token = message["params"]["progressToken"].as_u64().expect("a token of ours");
                assert!(self.pending.contains_key(&token), "progress of a call that has ended: {message}");
                self.tally.progress += 1;
            }
            (Some(method), None) => assert!(method.starts_with("notifications/"), "{message}"),
            (None, Some(id)) => {
                // A call may end with its server while its cancellation is on the way.
                let planned = self.pending.remove(&id).or_else(|| self.cancelled.remove(&id));
                let planned = planned.unwrap_or_else(|| panic!("nobody waits for {message}"));
                match planned.judge(message) {
                    Verdict::Right => self.tally.right += 1,
                    Verdict::Error(words) => self.tally.failed(&words),
                }
            }
            _ => panic!("nobody expects {message}"),
        }
    }

    /// After the answer to a last request nothing is on its way any more.
    async fn nothing_more_comes(&mut self) {
        self.client.send(&message::request(r#""last""#, "ping", "{}")).await;
        loop {
            let message = self.client.next().await.value();
            if message["id"] == "last" {
                return;
            }
            self.take(&message);
        }
    }
}
