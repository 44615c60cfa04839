//! Long work done as tasks: carried between a client and a server of the same era, waited for in all other cases.

mod session_based;
mod stateless;
mod waited_for;

use std::process::Command;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::{HttpClient, HttpReply};
use crate::support::http_request::HttpRequest;
use crate::support::in_process::{HttpProxy, Proxy, StdioProxy};
use crate::support::message::{self, Message};
use crate::support::modern::{VERSION, meta_members, with_meta};
use crate::support::program::Program;
use crate::support::programs::fake_backend;

pub const ERAS: [&str; 2] = ["legacy", "modern"];
pub const EXTENSION: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
pub const FORMS: &str = r#"{"elicitation":{}}"#;
pub const RELATED: &str = "io.modelcontextprotocol/related-task";
/// The id the server gives its first task; no client may see it.
pub const THEIRS: &str = "task-1";

/// Pipes or HTTP, on both sides of the proxy.
#[derive(Clone, Copy, Debug)]
pub enum Over {
    Pipes,
    Http,
}

pub const WAYS: [Over; 2] = [Over::Pipes, Over::Http];

pub fn server(era: &str) -> Command {
    fake_backend(["--era", era, "--tasks", "--only", "seen,echo,raw"])
}

enum Front {
    Pipe(StdioProxy),
    Http { client: HttpClient, _proxy: Box<HttpProxy>, _server: Program },
}

/// A client before one server with tasks.
pub struct Client {
    front: Front,
    next: u64,
}

/// A request on its way.
pub struct Begun {
    pub id: String,
    stream: Option<HttpReply>,
}

impl Client {
    pub async fn of(era: &str, over: Over, more: Value, sections: &str) -> Self {
        let front = match over {
            Over::Pipes => {
                let config = Config::new().server_with("fake", &server(era), more).section(sections);
                Front::Pipe(Proxy::new(&config).stdio())
            }
            Over::Http => {
                let mut command = server(era);
                command.args(["--http", "127.0.0.1:0"]);
                let (server, url) = Program::start_server(command).await;
                let config = Config::new().remote_with("fake", &url, more).section(sections);
                let proxy = Proxy::new(&config).http().await;
                Front::Http { client: proxy.client(), _proxy: Box::new(proxy), _server: server }
            }
        };
        Client { front, next: 700 }
    }

    /// A client that has shaken hands, and what it was told.
    pub async fn in_session(era: &str, over: Over, revision: &str, capabilities: &str) -> (Self, Value) {
        let mut client = Self::of(era, over, json!({}), "").await;
        let told = client.initialize(revision, capabilities).await;
        (client, told)
    }

    pub async fn initialize(&mut self, revision: &str, capabilities: &str) -> Value {
        let answer = match &mut self.front {
            Front::Pipe(proxy) => proxy.client.initialize_with(revision, capabilities).await,
            Front::Http { client, .. } => client.initialize_with(revision, capabilities).await,
        };
        answer.value()["result"].clone()
    }

    /// A request in the session.
    pub async fn ask(&mut self, method: &str, params: &Value) -> Message {
        match &mut self.front {
            Front::Pipe(proxy) => proxy.client.request(method, &params.to_string()).await,
            Front::Http { client, .. } => client.request(method, &params.to_string()).await,
        }
    }

    /// A stateless request that declares these capabilities.
    pub async fn modern(&mut self, method: &str, params: &Value, capabilities: &str) -> Message {
        match &mut self.front {
            Front::Pipe(proxy) => {
                let meta = format!("{{{}}}", meta_members(VERSION, capabilities));
                proxy.client.request(method, &with_meta(&params.to_string(), &meta)).await
            }
            Front::Http { client, .. } => client.modern_with(method, &params.to_string(), capabilities).await,
        }
    }

    pub async fn begin(&mut self, method: &str, params: &Value) -> Begun {
        match &mut self.front {
            Front::Pipe(proxy) => Begun { id: proxy.client.begin(method, &params.to_string()).await, stream: None },
            Front::Http { client, .. } => {
                self.next += 1;
                let id = self.next.to_string();
                let request = client.legacy(&message::request(&id, method, &params.to_string()));
                Begun { id, stream: Some(client.send(&request).await) }
            }
        }
    }

    /// The next message that belongs to a request.
    pub async fn next(&mut self, begun: &mut Begun) -> Message {
        match (&mut self.front, &mut begun.stream) {
            (Front::Http { .. }, Some(stream)) => stream.next_message().await.expect("the stream goes on"),
            (Front::Pipe(proxy), _) => proxy.client.next().await,
            _ => panic!("a request over HTTP has a stream"),
        }
    }

    pub async fn say(&mut self, text: &str) {
        match &mut self.front {
            Front::Pipe(proxy) => proxy.client.send(text).await,
            Front::Http { client, .. } => assert_eq!(client.send(&client.legacy(text)).await.status, 202),
        }
    }

    /// Makes a request in the session and answers what is asked meanwhile; the questions, and what came of it.
    pub async fn converse(&mut self, method: &str, params: &Value, answer: &Value) -> (Vec<Value>, Message) {
        let mut begun = self.begin(method, params).await;
        let mut questions = Vec::new();
        loop {
            let message = self.next(&mut begun).await;
            match message.id() {
                Some(id) if message.is_response() && id == begun.id => return (questions, message),
                Some(id) if message.method().is_some() => {
                    questions.push(message.value()["params"].clone());
                    self.say(&message::result(&id, &answer.to_string())).await;
                }
                _ => {}
            }
        }
    }

    /// What reached the server, once it holds this text.
    pub async fn seen(&mut self, wanted: &str) -> String {
        let params = call("seen", json!({ "wait_for": wanted }));
        self.ask("tools/call", &params).await.structured()
    }

    /// The HTTP client of a front that has one.
    pub fn http(&self) -> &HttpClient {
        match &self.front {
            Front::Http { client, .. } => client,
            Front::Pipe(_) => panic!("this is a pipe"),
        }
    }
}

pub fn call(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

/// The same, asked for as a task.
pub fn task(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments, "task": {"ttl": 60000}})
}

/// The id of the task that a call began, as the client has it.
pub fn begun(answer: &Message) -> String {
    let result = &answer.value()["result"];
    let id = result["task"]["taskId"].as_str().or(result["taskId"].as_str());
    let id = id.unwrap_or_else(|| panic!("no task in {}", answer.raw)).to_owned();
    assert!(!answer.raw.contains(THEIRS), "the server's own id shows: {}", answer.raw);
    id
}

pub fn about(id: &str) -> Value {
    json!({ "taskId": id })
}

/// A stateless request by hand.
pub fn by_hand(method: &str, params: &Value, capabilities: &str) -> HttpRequest {
    HttpRequest::modern_with("1", method, &params.to_string(), capabilities)
}
