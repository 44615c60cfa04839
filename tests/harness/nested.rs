//! Tools that need the client: by a request in one era, by a second round in the other.

use crate::support::http_client::HttpClient;
use crate::support::message;
use crate::support::modern::{modern_meta, with_meta};
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::stdio_client::StdioClient;

#[tokio::test]
async fn a_legacy_server_asks_while_the_call_runs() {
    let mut client = StdioClient::start(fake_backend(["--era", "legacy"]));
    client.initialize_with("2025-11-25", r#"{"elicitation":{}}"#).await;
    let call = client.begin("tools/call", &message::call("ask", r#"{"message":"?"}"#)).await;
    let question = client.expect_notification("elicitation/create").await;
    let id = question.id().expect("a question has an id");
    let answer =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept","content":{{"colour":"teal"}}}}}}"#);
    client.send(&answer).await;
    assert_eq!(client.response(&call).await.structured(), format!(r#"{{"answers":[{answer}]}}"#));
}

#[tokio::test]
async fn a_modern_server_asks_between_rounds() {
    let mut client = StdioClient::start(fake_backend(["--era", "modern"]));
    for (tool, method) in [("ask", "elicitation/create"), ("sample", "sampling/createMessage"), ("roots", "roots/list")]
    {
        let first = client.modern_call(tool, "{}").await.value();
        assert_eq!(first["result"]["resultType"], "input_required");
        assert_eq!(first["result"]["inputRequests"]["question"]["method"], method);
        let retry = r#"{"inputResponses":{"question":{"a":1.10}},"requestState":"round-1","name":""#;
        let params = with_meta(&format!(r#"{retry}{tool}","arguments":{{}}}}"#), &modern_meta());
        let answer = client.request("tools/call", &params).await;
        assert_eq!(answer.structured(), r#"{"inputResponses":{"question":{"a":1.10}},"requestState":"round-1"}"#);
    }
}

#[tokio::test]
async fn a_legacy_server_pings_and_speaks_in_batches() {
    let mut client = StdioClient::start(fake_backend(["--era", "legacy"]));
    client.initialize("2025-03-26").await;
    let call = client.begin("tools/call", &message::call("ping_client", "{}")).await;
    let id = client.expect_notification("ping").await.id().expect("a ping has an id");
    client.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)).await;
    client.response(&call).await.result();
    client.begin("tools/call", &message::call("batch", "{}")).await;
    assert!(client.next().await.raw.starts_with("[{"));
}

#[tokio::test]
async fn a_legacy_server_asks_on_the_standalone_stream() {
    let (server, url) = Program::start_server(fake_backend(["--http", "127.0.0.1:0", "--era", "legacy"])).await;
    let mut client = HttpClient::new(&url, server.stderr.clone());
    client.initialize("2025-11-25").await;
    let mut stream = client.get_stream().await;
    let ask = message::request("1", "tools/call", &message::call("ask", r#"{"via":"get"}"#));
    let _call = client.send_and_leave_open(&client.legacy(&ask)).await;
    let question = stream.next_message().await.expect("the question");
    assert_eq!(question.method().as_deref(), Some("elicitation/create"));
}
