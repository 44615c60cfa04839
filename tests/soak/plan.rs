//! Random calls, and what each of them must be answered with.

use serde_json::Value;

use super::world::SERVERS;
use crate::support::message;
use crate::support::modern::{VERSION, meta_members, with_meta};
use crate::support::random::Random;

pub struct Plan {
    random: Random,
    next: u64,
}

#[derive(Debug)]
pub struct Planned {
    pub id: u64,
    pub method: &'static str,
    /// Without the `_meta` of either era.
    pub params: String,
    pub modern: bool,
    pub wants_progress: bool,
    pub expected: Expected,
}

#[derive(Debug)]
pub enum Expected {
    /// The arguments, which hold the id.
    Echo,
    /// A text that holds the id.
    Text,
    /// An error result that holds the id.
    Failure,
    /// Nothing: it is there to be cancelled.
    Nothing,
    /// The server dies of it.
    Loss,
}

pub enum Verdict {
    Right,
    /// An error, with its words.
    Error(String),
}

impl Plan {
    pub fn new(random: Random, first: u64) -> Self {
        Self { random, next: first }
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.random.chance(percent)
    }

    pub fn next(&mut self) -> Planned {
        self.next += 1;
        let (id, modern) = (self.next, self.random.chance(50));
        let server = *self.random.pick(&SERVERS);
        let wrapped = if self.random.chance(20) { "_wrapped" } else { "" };
        let call = |tool: &str, more: &str| {
            let arguments = format!(r#"{{"id":{id}{more}}}"#);
            ("tools/call", message::call(&format!("{server}{wrapped}_{tool}"), &arguments))
        };
        let mut wants_progress = false;
        let ((method, params), expected) = match self.random.below(2000) {
            0 => (call("crash", ""), Expected::Loss),
            1..60 => (call("stall", ""), Expected::Nothing),
            60..260 => {
                wants_progress = true;
                (call("progress", r#","n":3"#), Expected::Echo)
            }
            260..460 => (call("slow", &format!(r#","ms":{}"#, self.random.below(30))), Expected::Echo),
            460..500 => (call("flood", r#","n":3"#), Expected::Echo),
            500..560 => (call("fail", &format!(r#","message":"failed for {id}""#)), Expected::Failure),
            560..720 => (("resources/read", format!(r#"{{"uri":"memo://notes/{id}"}}"#)), Expected::Text),
            720..880 => {
                (("prompts/get", format!(r#"{{"name":"greet","arguments":{{"who":"{id}"}}}}"#)), Expected::Text)
            }
            _ => (call("echo", ""), Expected::Echo),
        };
        Planned { id, method, params, modern, wants_progress, expected }
    }
}

impl Planned {
    /// The `_meta` of its era.
    pub fn meta(&self) -> String {
        let token = if self.wants_progress { format!(r#""progressToken":{}"#, self.id) } else { String::new() };
        match (self.modern, token.as_str()) {
            (true, "") => format!("{{{}}}", meta_members(VERSION, "{}")),
            (true, token) => format!("{{{token},{}}}", meta_members(VERSION, "{}")),
            (false, token) => format!("{{{token}}}"),
        }
    }

    pub fn request(&self) -> String {
        message::request(&self.id.to_string(), self.method, &with_meta(&self.params, &self.meta()))
    }

    /// Judges the one answer. What is neither right nor an error that says why fails the test.
    pub fn judge(&self, answer: &Value) -> Verdict {
        let (result, id) = (&answer["result"], self.id.to_string());
        let failed = result["isError"] == true;
        let right = match self.expected {
            Expected::Echo => !failed && result["structuredContent"]["id"] == self.id,
            Expected::Text => result.is_object() && !failed && result.to_string().contains(&id),
            Expected::Failure => failed && result.to_string().contains(&format!("failed for {id}")),
            Expected::Nothing | Expected::Loss => false,
        };
        if right {
            return Verdict::Right;
        }
        let words = if failed { &result["content"][0]["text"] } else { &answer["error"]["message"] };
        let words = words.as_str().unwrap_or_default();
        assert!(SERVERS.iter().any(|server| words.contains(server)), "{self:?} is answered with {answer}");
        Verdict::Error(words.to_owned())
    }
}
