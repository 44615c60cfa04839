//! `proxy console`: a page in the browser that shows a running proxy, and who may use it.

pub mod browser;
mod forwarding;
mod requests_of_others;
mod views;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{ChildStdin, ChildStdout};

use crate::support::http_request::HttpRequest;
use crate::support::patience::within;
use crate::support::program::Program;
use crate::support::proxy::{Proxy, StdioProxy};

/// A running `proxy console`.
pub struct Console {
    pub program: Program,
    pub stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    /// `127.0.0.1` and the port.
    pub host: String,
    pub code: String,
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// The status line and the headers, in lower case.
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|problem| panic!("{problem}: {self:?}"))
    }

    pub fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

impl Console {
    pub async fn start(world: &Proxy) -> Self {
        let (program, stdin, stdout) = Program::start(world.command(["console", "--no-browser"]));
        let lines = BufReader::new(stdout).lines();
        let mut console = Console { program, stdin, lines, host: String::new(), code: String::new() };
        console.read_address().await;
        console
    }

    /// The next address that the command prints.
    pub async fn read_address(&mut self) {
        let line = within("an address", &self.program.stderr, self.lines.next_line()).await;
        let line = line.expect("it is text").unwrap_or_else(|| panic!("{}", self.program.stderr.text()));
        let (host, code) = line.strip_prefix("http://").and_then(|rest| rest.split_once("/#")).expect("an address");
        (self.host, self.code) = (host.to_owned(), code.to_owned());
    }

    /// A new code, as after Enter in the terminal.
    pub async fn press_enter(&mut self) {
        self.stdin.write_all(b"\n").await.expect("it reads");
        self.read_address().await;
    }

    pub async fn open(&self, request: &HttpRequest, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).await.expect("it listens");
        stream.write_all(&request.bytes(&self.host, path)).await.expect("it reads");
        stream
    }

    pub async fn ask(&self, request: &HttpRequest, path: &str) -> Answer {
        let mut stream = self.open(request, path).await;
        let mut text = String::new();
        within("an answer", &self.program.stderr, stream.read_to_string(&mut text)).await.expect("it is text");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    pub async fn redeem(&self, code: &str) -> Answer {
        self.ask(&post(&json!({ "code": code })), "/api/session").await
    }

    /// The token for the code.
    pub async fn log_in(&self) -> String {
        let answer = self.redeem(&self.code).await;
        answer.json()["token"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned()
    }
}

pub fn get() -> HttpRequest {
    HttpRequest::bare("GET")
}

pub fn post(body: &Value) -> HttpRequest {
    HttpRequest { body: Some(body.to_string().into_bytes()), ..HttpRequest::bare("POST") }
        .header("Content-Type", "application/json")
}

pub fn with_token(request: HttpRequest, token: &str) -> HttpRequest {
    request.header("Authorization", &format!("Bearer {token}"))
}

/// What arrives until it contains this text.
pub async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut text = String::new();
    while !text.contains(wanted) {
        let mut part = vec![0; 4096];
        let length = stream.read(&mut part).await.expect("it goes on");
        assert!(length > 0, "{text}");
        text += &String::from_utf8_lossy(&part[..length]);
    }
    text
}

/// A proxy on stdio with a client.
pub async fn serving(world: Proxy) -> StdioProxy {
    let mut proxy = world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.tools().await;
    proxy
}
