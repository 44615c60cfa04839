//! A raw Streamable HTTP client: every header and every byte of a body is the test's own choice.

use std::net::{IpAddr, Ipv4Addr};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};

use super::http_body::{Framing, HttpBody};
use super::http_request::HttpRequest;
use super::message::{self, Message};
use super::patience::{LONG_PATIENCE, within};
use super::sse::{SseEvent, SseParser};
use super::stderr_log::StderrLog;

pub struct HttpClient {
    host: String,
    path: String,
    stderr: StderrLog,
    next_id: u64,
    session: Option<String>,
    version: Option<String>,
    headers: Vec<(String, String)>,
    /// The address on this machine that it connects from; any if `None`.
    address: Option<IpAddr>,
}

impl HttpClient {
    /// A client of the server at this URL, whose stderr is shown when a wait fails.
    pub fn new(url: &str, stderr: StderrLog) -> Self {
        let rest = url.strip_prefix("http://").unwrap_or_else(|| panic!("a plain http address: {url}"));
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        Self {
            host: host.to_owned(),
            path: format!("/{path}"),
            stderr,
            next_id: 1,
            session: None,
            version: None,
            headers: Vec::new(),
            address: None,
        }
    }

    /// The same client with its session, at another address.
    pub fn moved_to(&self, url: &str, stderr: &StderrLog) -> Self {
        let Self { host, path, .. } = Self::new(url, stderr.clone());
        Self {
            host,
            path,
            stderr: stderr.clone(),
            next_id: self.next_id,
            session: self.session.clone(),
            version: self.version.clone(),
            headers: self.headers.clone(),
            address: self.address,
        }
    }

    /// The same client with another session id.
    pub fn with_session(mut self, id: &str) -> Self {
        self.session = Some(id.to_owned());
        self
    }

    /// Connects from this address of this machine.
    pub fn with_address(mut self, address: Ipv4Addr) -> Self {
        self.address = Some(address.into());
        self
    }

    async fn connect(&self) -> TcpStream {
        let Some(address) = self.address else { return TcpStream::connect(&self.host).await.expect("cannot connect") };
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind((address, 0).into()).expect("an address of this machine");
        socket.connect(self.host.parse().expect("an address with a port")).await.expect("cannot connect")
    }

    /// Sends this header with every request, for example to be somebody.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Sends a request and waits for the status and headers of the reply.
    pub async fn send(&self, request: &HttpRequest) -> HttpReply {
        let what = format!("the reply to {} {}", request.method, self.path);
        let exchange = async {
            let mut stream = self.connect().await;
            stream.set_nodelay(true).expect("a socket takes options");
            stream.write_all(&self.bytes(request)).await.expect("cannot send");
            read_head(BufReader::new(stream), self.stderr.clone()).await
        };
        within(&what, &self.stderr, exchange).await
    }

    /// Opens a connection and sends a request, without waiting for anything; dropping it is a client that goes away.
    pub async fn send_and_leave_open(&self, request: &HttpRequest) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(&self.bytes(request)).await.expect("cannot send");
        stream
    }

    fn bytes(&self, request: &HttpRequest) -> Vec<u8> {
        let mut request = request.clone();
        request.headers.extend(self.headers.iter().cloned());
        request.bytes(&self.host, &self.path)
    }

    /// The legacy handshake; session and version are remembered.
    pub async fn initialize(&mut self, version: &str) -> Message {
        self.initialize_with(version, "{}").await
    }

    pub async fn initialize_with(&mut self, version: &str, capabilities: &str) -> Message {
        self.handshake(&message::initialize_params(version, capabilities)).await
    }

    /// The same for a client with a name of its own.
    pub async fn initialize_as(&mut self, version: &str, name: &str) -> Message {
        self.handshake(&message::initialize_params(version, "{}").replace("test-client", name)).await
    }

    async fn handshake(&mut self, params: &str) -> Message {
        let body = message::request(&self.take_id(), "initialize", params);
        let reply = self.send(&HttpRequest::post(body)).await;
        self.session = reply.header("mcp-session-id").map(str::to_owned);
        let answer = reply.response().await;
        self.version = answer.value()["result"]["protocolVersion"].as_str().map(str::to_owned);
        let done = self.send(&self.legacy(&message::notification("notifications/initialized", "{}"))).await;
        assert_eq!(done.status, 202, "the server takes notifications/initialized");
        answer
    }

    /// A POST within the session.
    pub fn legacy(&self, body: &str) -> HttpRequest {
        self.in_session(HttpRequest::post(body))
    }

    /// Adds the headers of the session to a request.
    pub fn in_session(&self, mut request: HttpRequest) -> HttpRequest {
        if let Some(session) = &self.session {
            request = request.header("Mcp-Session-Id", session);
        }
        match self.version.as_deref() {
            Some(version) if version >= "2025-06-18" => request.header("MCP-Protocol-Version", version),
            _ => request,
        }
    }

    /// A legacy request and its response.
    pub async fn request(&mut self, method: &str, params: &str) -> Message {
        let body = message::request(&self.take_id(), method, params);
        self.send(&self.legacy(&body)).await.response().await
    }

    /// A modern request and its response, whatever the status.
    pub async fn modern(&mut self, method: &str, params: &str) -> Message {
        let request = HttpRequest::modern(&self.take_id(), method, params);
        self.send(&request).await.response().await
    }

    /// The same, declaring these capabilities.
    pub async fn modern_with(&mut self, method: &str, params: &str, capabilities: &str) -> Message {
        let request = HttpRequest::modern_with(&self.take_id(), method, params, capabilities);
        self.send(&request).await.response().await
    }

    pub async fn call(&mut self, tool: &str, arguments: &str) -> Message {
        self.request("tools/call", &message::call(tool, arguments)).await
    }

    pub async fn modern_call(&mut self, tool: &str, arguments: &str) -> Message {
        self.modern("tools/call", &message::call(tool, arguments)).await
    }

    /// Opens the session's standalone stream.
    pub async fn get_stream(&self) -> HttpReply {
        self.send(&self.in_session(HttpRequest::get())).await
    }

    /// Ends the session; returns the status.
    pub async fn delete(&self) -> u16 {
        self.send(&self.in_session(HttpRequest::delete())).await.status
    }

    fn take_id(&mut self) -> String {
        let id = self.next_id.to_string();
        self.next_id += 1;
        id
    }
}

async fn read_head(mut stream: BufReader<TcpStream>, stderr: StderrLog) -> HttpReply {
    let mut line = String::new();
    stream.read_line(&mut line).await.expect("cannot read the status line");
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status line but `{line}`\n--- stderr ---\n{}", stderr.text()));
    let mut headers = Vec::new();
    loop {
        line.clear();
        stream.read_line(&mut line).await.expect("cannot read a header");
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let find = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let framing = match (find("transfer-encoding"), find("content-length")) {
        (Some("chunked"), _) => Framing::Chunked,
        (_, Some(length)) => Framing::Length(length.parse().expect("a length is a number")),
        _ => Framing::UntilEnd,
    };
    HttpReply { status, headers, body: HttpBody::new(stream, framing), parser: SseParser::default(), stderr }
}

/// Status and headers, and a body that is read as the test goes on. Dropping it closes the connection.
#[derive(Debug)]
pub struct HttpReply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    body: HttpBody,
    parser: SseParser,
    stderr: StderrLog,
}

impl HttpReply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn is_event_stream(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// The whole body.
    pub async fn text(mut self) -> String {
        self.rest().await
    }

    async fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        while let Some(chunk) = within("the rest of the body", &self.stderr, self.body.chunk()).await {
            bytes.extend(chunk);
        }
        String::from_utf8(bytes).expect("a body is UTF-8")
    }

    /// The next event, comments included; `None` at the end of the stream.
    pub async fn next_event(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(event) = self.parser.next() {
                return Some(event);
            }
            let chunk = within("the next event", &self.stderr, self.body.chunk()).await?;
            self.parser.feed(&chunk);
        }
    }

    /// The next message: that of the next event with data, other types of event are passed over, or the JSON body.
    /// `None` at the end.
    pub async fn next_message(&mut self) -> Option<Message> {
        if !self.is_event_stream() {
            let text = self.rest().await;
            return (!text.is_empty()).then(|| Message::new(text));
        }
        let stderr = self.stderr.clone();
        // Comments that keep the stream alive must not keep a test waiting for ever.
        let message = async {
            loop {
                let event = self.next_event().await?;
                let is_message = event.event.is_none_or(|kind| kind == "message");
                if let Some(data) = event.data.filter(|data| is_message && !data.is_empty()) {
                    return Some(Message::new(data));
                }
            }
        };
        match tokio::time::timeout(LONG_PATIENCE, message).await {
            Ok(message) => message,
            Err(_) => panic!("only comments in {LONG_PATIENCE:?}, no message\n--- stderr ---\n{}", stderr.text()),
        }
    }

    /// The response in this reply; what precedes it on a stream is passed over.
    pub async fn response(self) -> Message {
        self.messages().await.pop().expect("a reply ends with the response")
    }

    /// Everything up to and including the response.
    pub async fn messages(mut self) -> Vec<Message> {
        if !self.is_event_stream() {
            return vec![Message::new(self.text().await)];
        }
        let mut messages = Vec::new();
        loop {
            let Some(message) = self.next_message().await else {
                panic!(
                    "the stream ended without a response, after {messages:?}\n--- stderr ---\n{}",
                    self.stderr.text()
                );
            };
            messages.push(message);
            if messages.last().is_some_and(Message::is_response) {
                return messages;
            }
        }
    }
}
