//! A client without a session: questions end its requests, and leaving cancels them.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::actor::{ABILITIES, Actor, Errand};
use super::marks::{Tally, check_marked};
use crate::support::http_request::HttpRequest;
use crate::support::message::Message;
use crate::support::modern::{VERSION, meta_members};

pub struct StatelessActor(pub Actor);

impl StatelessActor {
    pub async fn act(mut self, times: usize) -> Tally {
        for _ in 0..times {
            let tool = *self.0.random.pick(&["echo", "progress", "flood", "ask", "slow", "stall", "leave"]);
            match tool {
                "stall" => self.leave("stall").await,
                "leave" => self.leave("progress").await,
                tool => {
                    let errand = self.0.errand(tool);
                    self.converse(&errand).await;
                }
            }
        }
        self.0.tally
    }

    fn request(&mut self, params: &Value) -> HttpRequest {
        let log = r#""progressToken":"t","io.modelcontextprotocol/logLevel":"debug""#;
        let meta = format!("{{{log},{}}}", meta_members(VERSION, ABILITIES));
        HttpRequest::modern_with_meta(&self.0.take_id(), "tools/call", &params.to_string(), &meta)
    }

    /// Hears until the response.
    async fn round(&mut self, params: &Value) -> Message {
        let request = self.request(params);
        let mut messages = self.0.client.send(&request).await.messages().await;
        let response = messages.pop().expect("the response is the last message");
        for message in &messages {
            self.0.hear(message);
        }
        response
    }

    async fn converse(&mut self, errand: &Errand) {
        let params = json!({"name": errand.tool, "arguments": errand.arguments});
        let mut response = self.round(&params).await;
        loop {
            let result = response.value()["result"].take();
            if result["resultType"] != "input_required" {
                return self.0.check_result(errand, &response);
            }
            check_marked(&self.0.mark, &response);
            self.0.tally.questions += 1;
            let questions = result["inputRequests"].as_object().expect("questions");
            let answers: Map<String, Value> = questions.keys().map(|key| (key.clone(), self.0.answer())).collect();
            let mut again = params.clone();
            again["inputResponses"] = Value::Object(answers);
            if let Some(state) = result.get("requestState") {
                again["requestState"] = state.clone();
            }
            response = self.round(&again).await;
        }
    }

    /// Goes away without an answer, at any moment.
    async fn leave(&mut self, tool: &str) {
        let errand = self.0.errand(tool);
        let request = self.request(&json!({"name": errand.tool, "arguments": errand.arguments}));
        let connection = self.0.client.send_and_leave_open(&request).await;
        // No event is awaited: every moment is a good one to leave.
        tokio::time::sleep(Duration::from_millis(self.0.random.below(20))).await;
        drop(connection);
        self.0.tally.cancelled += 1;
    }
}
