//! A server that answers as those of the SDKs do: the same heads, the same events, cut into the same packets. What a hop
//! costs depends on how many packets it has to wait for.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::backend::{answer, head};

#[derive(Clone, Copy)]
pub enum Sdk {
    Rmcp,
    TypeScript,
    Python,
}

#[derive(Clone, Copy)]
pub enum Answer {
    Json,
    Events,
}

impl Sdk {
    pub const ALL: [Sdk; 3] = [Sdk::Rmcp, Sdk::TypeScript, Sdk::Python];

    pub fn name(self) -> &'static str {
        match self {
            Sdk::Rmcp => "rmcp",
            Sdk::TypeScript => "TypeScript",
            Sdk::Python => "Python",
        }
    }

    /// The packets of an answer. `primes`: whether a stream begins with an event to come back to.
    fn packets(self, kind: Answer, primes: bool, body: &str) -> Vec<String> {
        match (self, kind) {
            (Sdk::Rmcp, Answer::Json) => vec![JSON.to_owned() + &sized(body)],
            (Sdk::Rmcp, Answer::Events) if primes => vec![
                EVENTS.to_owned() + &chunk("data: \nid: 0/0\nretry: 3000\n\n"),
                chunk(&format!("data: {body}\nid: 1/0\n\n")) + END,
            ],
            (Sdk::Rmcp, Answer::Events) => {
                vec![EVENTS.to_owned() + &chunk(&format!("data: {body}\n\n")), END.to_owned()]
            }
            (Sdk::TypeScript, Answer::Json) => vec![JSON.to_owned() + EXPRESS + &sized(body)],
            (Sdk::TypeScript, Answer::Events) => {
                let priming = if primes { chunk(&format!("id: {ID}\ndata: \n\n")) } else { String::new() };
                let event = chunk(&format!("event: message\nid: {ID}\ndata: {body}\n\n"));
                vec![EVENTS.replace("\r\n\r\n", "\r\n") + EXPRESS + "\r\n" + &priming + &event + END]
            }
            (Sdk::Python, Answer::Json) => {
                vec![format!("{JSON}server: uvicorn\r\ncontent-length: {}\r\n\r\n", body.len()), body.to_owned()]
            }
            (Sdk::Python, Answer::Events) => {
                vec![EVENTS.to_owned(), chunk(&format!("event: message\r\ndata: {body}\r\n\r\n")), END.to_owned()]
            }
        }
    }
}

impl Answer {
    pub fn name(self) -> &'static str {
        match self {
            Answer::Json => "JSON",
            Answer::Events => "events",
        }
    }
}

const JSON: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ndate: Mon, 16 Nov 2026 00:02:40 GMT\r\n";
const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nx-accel-buffering: no\r\ndate: Mon, 16 Nov 2026 00:02:40 GMT\r\ntransfer-encoding: chunked\r\n\r\n";
const EXPRESS: &str = "X-Powered-By: Express\r\nAccess-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: mcp-session-id,last-event-id,mcp-protocol-version\r\nconnection: keep-alive\r\n";
const ID: &str = "2cafef73-310d-449f-bd2d-f772728ff93c";
const END: &str = "0\r\n\r\n";
const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"},"ttlMs":60000,"cacheScope":"public"}"#;

fn sized(body: &str) -> String {
    format!("content-length: {}\r\n\r\n{body}", body.len())
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

#[derive(Clone, Copy)]
struct Server {
    sdk: Sdk,
    kind: Answer,
    stateless: bool,
}

/// Serves as the arguments say: the SDK, the kind of answers, the era.
pub async fn serve(arguments: &[String]) {
    let sdk = Sdk::ALL.into_iter().find(|sdk| sdk.name() == arguments[0]).unwrap();
    let kind = if arguments[1] == Answer::Json.name() { Answer::Json } else { Answer::Events };
    let server = Server { sdk, kind, stateless: arguments[2] == "stateless" };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        tokio::spawn(server.connection(stream));
    }
}

impl Server {
    async fn connection(self, mut stream: TcpStream) {
        let mut buffer = Vec::new();
        loop {
            let whole = head(&buffer).filter(|(head, length)| buffer.len() >= head + length);
            let Some((head, length)) = whole else {
                if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                    return;
                }
                continue;
            };
            let text = String::from_utf8_lossy(&buffer[..head + length]).into_owned();
            buffer.drain(..head + length);
            for packet in self.reply(&text, &text[head..]) {
                if stream.write_all(packet.as_bytes()).await.is_err() {
                    return;
                }
                // What else is ready runs first, so that the packets do not arrive as one.
                tokio::task::yield_now().await;
            }
        }
    }

    fn reply(self, request: &str, message: &str) -> Vec<String> {
        if request.starts_with("GET") {
            return vec!["HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n".to_owned()];
        }
        let Some(mut body) = answer(message) else {
            return vec!["HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned()];
        };
        if self.stateless && message.contains("\"server/discover\"") {
            let id = body.split("\"id\":").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("1").to_owned();
            body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{DISCOVERED}}}"#);
        } else if self.stateless {
            body = body.replacen("\"result\":{", "\"result\":{\"resultType\":\"complete\",", 1);
        }
        let mut packets = self.sdk.packets(self.kind, !self.stateless, &body);
        if message.contains("\"initialize\"") {
            packets[0] = packets[0].replacen("\r\n", "\r\nmcp-session-id: 61ad004145834821b2a5abde860f51a3\r\n", 1);
        }
        packets
    }
}
