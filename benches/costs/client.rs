//! A client with a session of its own, one request at a time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use crate::http::exchange;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"bench","version":"1.0"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

/// Of calls: several connections of one session must not use the same.
static NEXT_ID: AtomicU64 = AtomicU64::new(3);

pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    address: String,
    /// What its session is known by.
    headers: String,
    session: String,
}

/// A call of a tool, with an id of its own.
pub fn call(tool: &str, arguments: &serde_json::Value) -> String {
    let params = serde_json::json!({"name": tool, "arguments": arguments});
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    serde_json::json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

impl Client {
    /// Connects, without a session yet.
    pub async fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Client {
            stream,
            buffer: Vec::new(),
            address: address.to_owned(),
            headers: String::new(),
            session: String::new(),
        }
    }

    /// Opens a session, and looks around in it once.
    pub async fn open_session(&mut self) {
        self.headers.clear();
        let reply = self.post(INITIALIZE).await;
        let id = reply.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim().to_owned();
        self.join(&id);
        let reply = self.post(INITIALIZED).await;
        assert!(reply.starts_with("HTTP/1.1 202"), "{reply}");
        let reply = self.post(LIST).await;
        assert!(reply.contains("\"tools\""), "{reply}");
    }

    /// Goes on in a session that exists.
    pub fn join(&mut self, id: &str) {
        self.headers = format!("mcp-session-id: {id}\r\nmcp-protocol-version: 2025-11-25\r\n");
        id.clone_into(&mut self.session);
    }

    /// The id of its session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Speaks without a session from now on, and calls `echo` only.
    pub fn be_stateless(&mut self) {
        let headers = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\n";
        headers.clone_into(&mut self.headers);
    }

    /// Another connection to the same session.
    pub async fn another(&self) -> Self {
        Client { headers: self.headers.clone(), session: self.session.clone(), ..Client::connect(&self.address).await }
    }

    /// How long calls of a tool take that does nothing, in milliseconds, shortest first; one after the other for so long.
    pub async fn latencies(&mut self, time: Duration) -> Vec<f64> {
        let call = call("echo", &serde_json::json!({"text": "some argument"}));
        let mut latencies = Vec::new();
        let end = Instant::now() + time;
        while Instant::now() < end {
            let started = Instant::now();
            let reply = self.post(&call).await;
            latencies.push(started.elapsed().as_secs_f64() * 1e3);
            assert!(reply.contains("the answer"), "{reply}");
            // Somebody who calls now and then, and not all the time.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        latencies.sort_by(f64::total_cmp);
        latencies
    }

    /// The whole reply to a message.
    pub async fn post(&mut self, body: &str) -> String {
        let (address, headers, length) = (&self.address, &self.headers, body.len());
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{headers}content-length: {length}\r\n\r\n{body}"
        );
        exchange(&mut self.stream, &mut self.buffer, &request).await
    }
}
