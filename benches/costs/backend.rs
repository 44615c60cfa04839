//! A server that does as little as possible: it finds the id and answers.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::{OpenOptions, Receiver, Sender};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// The answer to one message; none for notifications.
pub fn answer(message: &str) -> Option<String> {
    let start = message.find("\"id\":")? + 5;
    let id: String = message[start..].chars().take_while(|byte| !",}".contains(*byte)).collect();
    let result = if message.contains("\"tools/call\"") {
        r#"{"content":[{"type":"text","text":"the answer, which is about one hundred bytes long, all in all"}]}"#
    } else if message.contains("\"tools/list\"") {
        r#"{"tools":[{"name":"echo","description":"Answers","inputSchema":{"type":"object"}}]}"#
    } else if message.contains("\"initialize\"") {
        r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}"#
    } else {
        return Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#));
    };
    Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

fn pipes() -> (BufReader<Receiver>, Sender) {
    let input = OpenOptions::new().open_receiver("/proc/self/fd/0").unwrap();
    let output = OpenOptions::new().open_sender("/proc/self/fd/1").unwrap();
    (BufReader::with_capacity(65536, input), output)
}

/// The same, but every call takes so long, however many there are.
pub async fn slow_stdio(delay: Duration) {
    let (mut input, mut output) = pipes();
    let (answers, mut queue) = mpsc::unbounded_channel::<String>();
    tokio::spawn(async move {
        while let Some(mut out) = queue.recv().await {
            while let Ok(more) = queue.try_recv() {
                out.push_str(&more);
            }
            output.write_all(out.as_bytes()).await.unwrap();
        }
    });
    let mut line = String::new();
    while input.read_line(&mut line).await.unwrap() > 0 {
        if let Some(text) = answer(&line) {
            let (answers, slow) = (answers.clone(), line.contains("\"tools/call\""));
            tokio::spawn(async move {
                if slow {
                    tokio::time::sleep(delay).await;
                }
                let _ = answers.send(text + "\n");
            });
        }
        line.clear();
    }
}

pub async fn stdio() {
    let (mut input, mut output) = pipes();
    let (mut line, mut out) = (String::new(), String::new());
    while input.read_line(&mut line).await.unwrap() > 0 {
        if let Some(text) = answer(&line) {
            out.push_str(&text);
            out.push('\n');
        }
        line.clear();
        if input.buffer().is_empty() {
            output.write_all(out.as_bytes()).await.unwrap();
            out.clear();
        }
    }
}

/// What the same server is as an API, at `POST /echo`.
const API_ANSWER: &str = r#"{"text":"the answer, which is about one hundred bytes long, all in all"}"#;

/// HTTP/1.1 with content lengths, JSON answers, no session.
pub async fn http() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        tokio::spawn(connection(stream));
    }
}

async fn connection(mut stream: TcpStream) {
    let mut buffer = Vec::new();
    loop {
        let Some((head, length)) = head(&buffer) else {
            if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                return;
            }
            continue;
        };
        while buffer.len() < head + length {
            if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let text = String::from_utf8_lossy(&buffer[..head + length]).into_owned();
        buffer.drain(..head + length);
        let answer = if text.starts_with("POST /echo ") { Some(API_ANSWER.to_owned()) } else { answer(&text[head..]) };
        let reply = match answer {
            _ if text.starts_with("GET") => "HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n".to_owned(),
            Some(body) => format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ),
            None => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
        };
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Where the body starts and how long it is, once the whole head is there.
pub fn head(buffer: &[u8]) -> Option<(usize, usize)> {
    let end = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
    let length = text.split("content-length:").nth(1).and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    Some((end, length.unwrap_or(0)))
}
