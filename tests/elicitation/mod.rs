//! Servers that ask in the middle of a call: forms, models and folders, in all four combinations of eras. The right
//! person is asked, or nobody.

mod between_eras;
mod named_servers;
mod owners;
mod tickets;
mod used_tickets;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::in_process::{Proxy, StdioProxy};
use crate::support::message::{self, Message};
use crate::support::modern::{VERSION, meta_members, with_meta};
use crate::support::programs::fake_backend;

pub const ERAS: [&str; 2] = ["legacy", "modern"];
pub const EVERYTHING: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;

/// One server of this era, and more keys of its entry.
pub fn one_server(era: &str, more: Value) -> Config {
    Config::new().server_with("fake", &fake_backend(["--era", era]), more)
}

/// A client of one era on a pipe that can be asked things.
pub struct Client {
    pub proxy: StdioProxy,
    pub modern: bool,
    pub capabilities: String,
}

impl Client {
    pub async fn of(config: &Config, modern: bool, capabilities: &str) -> Self {
        Self::at(Proxy::new(config), modern, capabilities).await
    }

    pub async fn at(proxy: impl Into<StdioProxy>, modern: bool, capabilities: &str) -> Self {
        let mut proxy = proxy.into();
        if !modern {
            proxy.client.initialize_with("2025-11-25", capabilities).await.result();
        }
        Client { proxy, modern, capabilities: capabilities.to_owned() }
    }

    /// A stateless call with this client's capabilities.
    pub async fn modern_call(&mut self, params: &Value) -> Message {
        self.modern_request("tools/call", params).await
    }

    pub async fn modern_request(&mut self, method: &str, params: &Value) -> Message {
        let meta = format!("{{{}}}", meta_members(VERSION, &self.capabilities));
        self.proxy.client.request(method, &with_meta(&params.to_string(), &meta)).await
    }

    /// Calls a tool and answers everything it asks; the questions, and what came of the call.
    pub async fn converse(&mut self, tool: &str, arguments: Value, answer: Value) -> (Vec<Value>, Value) {
        self.converse_with("tools/call", json!({"name": tool, "arguments": arguments}), |_| answer.clone()).await
    }

    /// The same for any request, with answers that go by the questions.
    pub async fn converse_with(
        &mut self,
        method: &str,
        params: Value,
        answer: impl FnMut(&Value) -> Value,
    ) -> (Vec<Value>, Value) {
        match self.modern {
            true => self.in_rounds(method, params, answer).await,
            false => self.in_requests(method, params, answer).await,
        }
    }

    async fn in_rounds(
        &mut self,
        method: &str,
        params: Value,
        mut answer: impl FnMut(&Value) -> Value,
    ) -> (Vec<Value>, Value) {
        let (mut questions, mut sent) = (Vec::new(), params.clone());
        loop {
            let outcome = self.modern_request(method, &sent).await.value();
            if outcome["result"]["resultType"] != "input_required" {
                return (questions, outcome);
            }
            let asked = outcome["result"]["inputRequests"].as_object().expect("questions").clone();
            let answers: serde_json::Map<String, Value> =
                asked.iter().map(|(key, question)| (key.clone(), answer(question))).collect();
            questions.extend(asked.into_iter().map(|(_, question)| question));
            sent = params.clone();
            sent["inputResponses"] = Value::Object(answers);
            if let Some(state) = outcome["result"].get("requestState") {
                sent["requestState"] = state.clone();
            }
        }
    }

    async fn in_requests(
        &mut self,
        method: &str,
        params: Value,
        mut answer: impl FnMut(&Value) -> Value,
    ) -> (Vec<Value>, Value) {
        let client = &mut self.proxy.client;
        let call = client.begin(method, &params.to_string()).await;
        let mut questions = Vec::new();
        loop {
            let message = client.next().await;
            match message.id() {
                Some(id) if message.is_response() && id == call => return (questions, message.value()),
                Some(id) if message.method().is_some() => {
                    let question = message.value();
                    questions.push(json!({"method": question["method"], "params": question["params"]}));
                    client.send(&message::result(&id, &answer(&question).to_string())).await;
                }
                _ => {}
            }
        }
    }
}

/// The same request again, with a yes to everything that was asked.
pub fn accepted(params: &Value, first: &Value) -> Value {
    let asked = first["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("no questions in {first}"));
    let answers: serde_json::Map<_, _> = asked.keys().map(|key| (key.clone(), json!({"action": "accept"}))).collect();
    let mut again = params.clone();
    again["inputResponses"] = Value::Object(answers);
    again["requestState"] = first["result"]["requestState"].clone();
    again
}

/// The texts of a result, put together.
pub fn text(outcome: &Value) -> String {
    let blocks = outcome["result"]["content"].as_array().cloned().unwrap_or_default();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}
