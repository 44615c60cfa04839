//! rmcp's client asks and is asked.

use std::sync::Arc;

use rmcp::ClientLifecycleMode;
use rmcp::model::CallToolResult;
use rmcp::service::ServiceError;
use serde_json::{Value, json};

use super::{Asker, KINDS, Kind, Outcome, answered, askers, declined, not_declared};
use crate::support::config::Config;
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::programs::rmcp_server;
use crate::support::proxy::Proxy;
use crate::support::rmcp_client::{RmcpClient, legacy, modern};
use crate::support::rmcp_person::Person;

struct Client {
    rmcp: RmcpClient,
    person: Arc<Person>,
    /// rmcp 3.8 cannot read a stateless server's question to visit an address, which by the protocol has no id.
    reads_addresses: bool,
}

impl Client {
    async fn call(&self, kind: &Kind) -> Outcome {
        if kind.tool == "ask_url" && !self.reads_addresses {
            return self.call_by_hand(kind.tool).await;
        }
        let (text, failed) = told(self.rmcp.try_call(kind.tool, json!({})).await);
        Outcome { asked: self.person.asked(), text, failed }
    }

    /// Round by round; rmcp carries the messages, the test reads the questions.
    async fn call_by_hand(&self, tool: &str) -> Outcome {
        let params = json!({"name": tool, "arguments": {}});
        let mut result = self.rmcp.call_once(params.clone()).await;
        while result["resultType"] == "input_required" {
            let questions = result["inputRequests"].as_object().expect("questions");
            let answers = questions.iter().map(|(key, question)| {
                let url = question["params"]["url"].as_str().unwrap_or_else(|| panic!("an address in {question}"));
                (key.clone(), json!(self.person.sent_to(url)))
            });
            let mut again = params.clone();
            again["inputResponses"] = answers.collect::<serde_json::Map<String, Value>>().into();
            if let Some(state) = result.get("requestState") {
                again["requestState"] = state.clone();
            }
            result = self.rmcp.call_once(again).await;
        }
        let failed = result["isError"] == true;
        Outcome { asked: self.person.asked(), text: result["content"].to_string(), failed }
    }
}

fn told(called: Result<CallToolResult, ServiceError>) -> (String, bool) {
    match called {
        Ok(result) => (json!(result.content).to_string(), result.is_error == Some(true)),
        Err(ServiceError::McpError(error)) => (json!(error).to_string(), true),
        Err(other) => panic!("{other:?}"),
    }
}

async fn connect(asker: &Asker, stateless: bool, person: Person) -> Client {
    let person = Arc::new(person);
    let lifecycle = if stateless { modern() } else { legacy() };
    let rmcp = RmcpClient::stdio_of(asker.world.serve_command(), lifecycle, Arc::clone(&person)).await;
    let same_shape = asker.name == "rmcp" && asker.stateless;
    Client { rmcp, person, reads_addresses: !stateless || same_shape }
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn what_servers_ask_reaches_the_person_at_rmcp_and_the_answer_the_server() {
    let (askers, _program) = askers().await;
    for asker in askers {
        for stateless in [false, true] {
            let cell = format!("rmcp, stateless {stateless}, before {}, stateless {}", asker.name, asker.stateless);
            let client = connect(&asker, stateless, Person::present()).await;
            for kind in &KINDS {
                answered(&cell, kind, &client.call(kind).await);
            }
            client.person.decline();
            // A stateless client that refuses a model or folders just does not call again.
            for kind in KINDS.iter().filter(|kind| kind.capability == "elicitation" || !stateless) {
                declined(&cell, kind, &client.call(kind).await);
            }
            client.rmcp.finish().await;
        }
    }
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn nobody_at_rmcp_is_asked_what_was_not_declared() {
    let (askers, _program) = askers().await;
    for asker in askers {
        for stateless in [false, true] {
            let cell = format!("rmcp, stateless {stateless}, before {}, stateless {}", asker.name, asker.stateless);
            let mut client = connect(&asker, stateless, Person::absent()).await;
            // Nothing is asked that it could not read.
            client.reads_addresses = true;
            for kind in &KINDS {
                not_declared(&cell, kind, &client.call(kind).await);
            }
            client.rmcp.finish().await;
        }
    }
}

async fn over_http(config: &Config, same_shape: bool, lifecycle: ClientLifecycleMode, stateless: bool) {
    let mut proxy = Proxy::new(config).http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    let person = Arc::new(Person::present());
    let stderr = proxy.program.stderr.clone();
    let rmcp = RmcpClient::http_of(&proxy.url, stderr, lifecycle, Arc::clone(&person)).await;
    let client = Client { rmcp, person, reads_addresses: !stateless || same_shape };
    let cell = format!("rmcp over HTTP, stateless {stateless}, same shape {same_shape}");
    // Folders take a connection of one's own, which an unknown stateless client has not.
    for kind in KINDS.iter().filter(|kind| kind.tool != "ask_folders") {
        answered(&cell, kind, &client.call(kind).await);
    }
    client.rmcp.finish().await;
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn questions_cross_with_rmcp_on_http_at_both_ends() {
    let eras = [(vec!["--legacy"], "2025-11-25"), (vec![], "2026-07-28")];
    for (flags, era) in eras {
        let flags = ["--asking", "--http", "127.0.0.1:0"].into_iter().chain(flags);
        let (_server, url) = Program::start_server(rmcp_server(flags)).await;
        let config = Config::new().remote_with("asking", &url, json!({"protocol": era}));
        let config = config.section("sessionInit: {preset: passthrough}");
        let same_shape = era == "2026-07-28";
        over_http(&config, same_shape, legacy(), false).await;
        over_http(&config, same_shape, modern(), true).await;
    }
}
