//! Odd messages come back from the fake backend exactly as they went in.

use crate::support::corpus::{Use, odd_messages};
use crate::support::http_client::HttpClient;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::stdio_client::StdioClient;

#[tokio::test]
async fn odd_messages_survive_stdio() {
    let mut client = StdioClient::start(fake_backend(["--era", "legacy"]));
    client.initialize("2025-11-25").await;
    let messages = odd_messages();
    assert!(messages.len() >= 40);
    for odd in messages {
        let returned = match odd.kind {
            Use::Result => client.call("raw", &format!(r#"{{"result":{}}}"#, odd.json)).await.result(),
            Use::Arguments => client.call("echo", &odd.json).await.structured(),
        };
        assert_eq!(returned, odd.json, "{}", odd.name);
    }
}

#[tokio::test]
async fn odd_messages_survive_modern_http() {
    let (server, url) = Program::start_server(fake_backend(["--http", "127.0.0.1:0", "--era", "modern"])).await;
    let mut client = HttpClient::new(&url, server.stderr.clone());
    for odd in odd_messages() {
        let returned = match odd.kind {
            Use::Result => client.modern_call("raw", &format!(r#"{{"result":{}}}"#, odd.json)).await.result(),
            Use::Arguments => client.modern_call("echo", &odd.json).await.structured(),
        };
        assert_eq!(returned, odd.json, "{}", odd.name);
    }
}
