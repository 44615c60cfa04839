//! Tools that need the client: by a request in one era, by a second round in the other.

use crate::support::message;
use crate::support::modern::{modern_meta, with_meta};
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
