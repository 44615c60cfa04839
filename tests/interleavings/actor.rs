//! A client that does random things and checks that all it hears is its own.

use serde_json::{Value, json};

use super::marks::{Tally, check, check_marked, mark};
use super::session_actor::SessionActor;
use super::stateless_actor::StatelessActor;
use crate::support::http_client::HttpClient;
use crate::support::message::Message;
use crate::support::random::Random;

pub const ABILITIES: &str = r#"{"elicitation":{"form":{}}}"#;

#[derive(Clone, Copy)]
pub struct World {
    /// A session-based server on a pipe cannot tell whose question it asks.
    pub stateless_pipe: bool,
}

pub struct Actor {
    pub mark: String,
    pub client: HttpClient,
    pub random: Random,
    pub tally: Tally,
    world: World,
    next: u64,
}

/// A tool and its arguments, marked.
pub struct Errand {
    pub tool: String,
    pub arguments: Value,
    /// Whether its question must find its person.
    pub must_ask: bool,
}

impl Actor {
    pub fn new(number: usize, client: HttpClient, random: Random, world: World) -> Self {
        Self { mark: mark(number), client, random, tally: Tally::default(), world, next: 1 }
    }

    /// Acts so many times and tells what was heard.
    pub async fn act(self, has_session: bool, times: usize) -> Tally {
        if has_session {
            SessionActor::open(self).await.act(times).await
        } else {
            StatelessActor(self).act(times).await
        }
    }

    /// The same ids and tokens for everybody: nothing but their owners tells them apart.
    pub fn take_id(&mut self) -> String {
        self.next += 1;
        self.next.to_string()
    }

    /// A call of one of the servers, directly or by a handler.
    pub fn errand(&mut self, tool: &str) -> Errand {
        let server = *self.random.pick(&["web", "pipe"]);
        let wrapped = *self.random.pick(&["", "_wrapped"]);
        let (mark, secret) = (&self.mark, self.random.next());
        let arguments = match tool {
            "progress" => json!({"mark": mark, "secret": secret, "n": 1 + secret % 6, "ms": secret % 7}),
            "flood" => json!({"mark": mark, "secret": secret, "n": 1 + secret % 6}),
            "slow" => json!({"mark": mark, "secret": secret, "ms": secret % 40}),
            "ask" => {
                json!({"mark": mark, "secret": secret, "message": format!("for {mark}?"), "rounds": 1 + secret % 2})
            }
            _ => json!({"mark": mark, "secret": secret}),
        };
        let must_ask = server == "web" || self.world.stateless_pipe;
        Errand { tool: format!("{server}{wrapped}_{tool}"), arguments, must_ask }
    }

    /// Anything heard that is no response.
    pub fn hear(&mut self, message: &Message) {
        match message.method().as_deref() {
            Some("notifications/progress") => {
                check_marked(&self.mark, message);
                self.tally.progress += 1;
            }
            Some("notifications/message") => {
                check_marked(&self.mark, message);
                self.tally.logs += 1;
            }
            Some("elicitation/create") => {
                check_marked(&self.mark, message);
                self.tally.questions += 1;
            }
            Some("notifications/tools/list_changed") => {}
            other => panic!("{} hears {other:?}: {}", self.mark, message.raw),
        }
    }

    /// The answer to a question, which the server repeats.
    pub fn answer(&self) -> Value {
        json!({"action": "accept", "content": {"colour": format!("blue as {}", self.mark)}})
    }

    /// The outcome of an errand is exactly what was asked for, and nobody else's.
    pub fn check_result(&mut self, errand: &Errand, message: &Message) {
        check(&self.mark, message);
        let result = &message.value()["result"];
        self.tally.results += 1;
        if errand.tool.ends_with("_ask") {
            let text = result.to_string();
            let answered = text.contains(&format!("blue as {}", self.mark));
            let nobody_asked = text.contains("scope: session") && !errand.must_ask;
            assert!(answered || nobody_asked, "{} asks {}: {}", self.mark, errand.tool, message.raw);
        } else {
            assert_eq!(result["structuredContent"], errand.arguments, "{}: {}", errand.tool, message.raw);
        }
    }
}
