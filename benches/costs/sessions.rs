//! Sessions that nobody uses: opened, looked around in once, and left.

use tokio::net::TcpStream;

use crate::http::exchange;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"bench","version":"1.0"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

/// Opens so many at the proxy that listens there.
pub async fn open(address: &str, count: usize) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut buffer = Vec::new();
    for _ in 0..count {
        let reply = exchange(&mut stream, &mut buffer, &post(address, "", INITIALIZE)).await;
        let id = reply.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().trim().to_owned();
        let headers = format!("mcp-session-id: {id}\r\nmcp-protocol-version: 2025-11-25\r\n");
        let reply = exchange(&mut stream, &mut buffer, &post(address, &headers, INITIALIZED)).await;
        assert!(reply.starts_with("HTTP/1.1 202"), "{reply}");
        let reply = exchange(&mut stream, &mut buffer, &post(address, &headers, LIST)).await;
        assert!(reply.contains("\"tools\""), "{reply}");
    }
}

fn post(address: &str, headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}
