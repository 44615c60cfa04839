//! Calls over HTTP through a program, so many connections at once.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::backend::head;
use crate::cpu;

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"some argument","number":42},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// CPU microseconds the process `pid`, which listens at `address`, spends per call.
pub async fn cost(address: &str, pid: u32, connections: usize, calls: usize) -> f64 {
    cost_with("", address, pid, connections, calls).await
}

/// The same with more headers, each with its line end.
pub async fn cost_with(headers: &str, address: &str, pid: u32, connections: usize, calls: usize) -> f64 {
    drive(headers, address, connections, 2000.min(calls)).await;
    let before = cpu::seconds(pid);
    drive(headers, address, connections, calls).await;
    (cpu::seconds(pid) - before) * 1e6 / calls as f64
}

/// Makes so many calls. The address may have a path.
pub async fn drive(headers: &str, address: &str, connections: usize, calls: usize) {
    let (address, path) = address.split_once('/').unwrap_or((address, "mcp"));
    let request = format!(
        "POST /{path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\n{headers}content-length: {}\r\n\r\n{CALL}",
        CALL.len()
    );
    let mut tasks = Vec::new();
    for _ in 0..connections {
        let (address, request) = (address.to_owned(), request.clone());
        tasks.push(tokio::spawn(async move {
            let mut stream = TcpStream::connect(&address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let mut buffer = Vec::new();
            for _ in 0..calls / connections {
                let reply = exchange(&mut stream, &mut buffer, &request).await;
                assert!(reply.contains("the answer"), "{reply}");
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// Sends a request and reads its reply, head and body.
pub async fn exchange(stream: &mut TcpStream, buffer: &mut Vec<u8>, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let end = loop {
        if let Some(end) = end_of_reply(buffer) {
            break end;
        }
        assert!(stream.read_buf(buffer).await.unwrap() > 0, "the connection was closed");
    };
    let reply = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.drain(..end);
    reply
}

/// Where the first reply ends, once all of it is there: what took a while comes in pieces.
fn end_of_reply(buffer: &[u8]) -> Option<usize> {
    const LAST_PIECE: &[u8] = b"\r\n0\r\n\r\n";
    let (head, length) = head(buffer)?;
    if String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase().contains("transfer-encoding: chunked") {
        let last = buffer[head..].windows(LAST_PIECE.len()).position(|window| window == LAST_PIECE)?;
        return Some(head + last + LAST_PIECE.len());
    }
    (buffer.len() >= head + length).then_some(head + length)
}
