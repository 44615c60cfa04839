//! The fake backend and the raw client over stateless HTTP.

use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::modern::{meta_members, modern_meta};
use crate::support::program::Program;
use crate::support::programs::fake_backend;

async fn start(flags: &[&str]) -> (Program, HttpClient) {
    let flags = ["--http", "127.0.0.1:0", "--era", "modern"].into_iter().chain(flags.iter().copied());
    let (program, url) = Program::start_server(fake_backend(flags)).await;
    let client = HttpClient::new(&url, program.stderr.clone());
    (program, client)
}

async fn code(client: &HttpClient, request: HttpRequest) -> (u16, i64) {
    let reply = client.send(&request).await;
    (reply.status, reply.response().await.error_code())
}

#[tokio::test]
async fn a_client_discovers_lists_and_calls() {
    let (_server, mut client) = start(&[]).await;
    client.modern("server/discover", "{}").await.result();
    assert!(client.modern("tools/list", "{}").await.tool_names().contains(&"region_tool".to_owned()));
    assert_eq!(client.modern_call("echo", r#"{"a":1.0}"#).await.structured(), r#"{"a":1.0}"#);
    assert_eq!(client.get_stream().await.status, 405);
}

#[tokio::test]
async fn every_wrong_header_is_noticed() {
    let (_server, client) = start(&[]).await;
    let good = HttpRequest::modern("1", "tools/call", &message::call("echo", "{}"));
    assert_eq!(client.send(&good).await.status, 200);
    assert_eq!(code(&client, good.clone().without("mcp-method")).await, (400, -32020));
    assert_eq!(code(&client, good.clone().with("Mcp-Method", "TOOLS/CALL")).await, (400, -32020));
    assert_eq!(code(&client, good.clone().with("Mcp-Name", "other")).await, (400, -32020));
    assert_eq!(code(&client, good.clone().header("Mcp-Name", "echo")).await, (400, -32020));
    assert_eq!(code(&client, good.clone().with("Mcp-Name", "=?base64?%%%?=")).await, (400, -32020));
    assert_eq!(code(&client, good.clone().without("mcp-protocol-version")).await, (400, -32020));
    let encoded = good.clone().with("Mcp-Name", "=?base64?ZWNobw==?=");
    assert_eq!(client.send(&encoded).await.status, 200);
    let other_version = format!("{{{}}}", meta_members("1900-01-01", "{}"));
    let old = HttpRequest::modern_with_meta("1", "tools/list", "{}", &other_version);
    assert_eq!(code(&client, old.clone()).await, (400, -32020));
    assert_eq!(code(&client, old.with("MCP-Protocol-Version", "1900-01-01")).await, (400, -32022));
    assert_eq!(code(&client, HttpRequest::modern_with_meta("1", "tools/list", "{}", "{}")).await, (400, -32602));
    assert_eq!(code(&client, HttpRequest::modern("1", "ping", "{}")).await, (404, -32601));
}

#[tokio::test]
async fn a_name_that_is_not_ascii_travels_encoded() {
    let (_server, mut client) = start(&["--only", "日本語"]).await;
    client.modern_call("日本語", "{}").await.result();
}

#[tokio::test]
async fn annotated_arguments_must_be_in_headers() {
    let (_server, client) = start(&[]).await;
    let arguments = r#"{"region":"eu","count":42,"options":{"fast":true}}"#;
    let bare = HttpRequest::modern("1", "tools/call", &message::call("region_tool", arguments));
    assert_eq!(code(&client, bare.clone()).await, (400, -32020));
    let full = bare.header("Mcp-Param-Region", "eu").header("Mcp-Param-Count", "42.0").header("mcp-param-fast", "true");
    let answer = client.send(&full).await.response().await;
    assert!(answer.structured().contains(r#"["mcp-param-region","eu"]"#));
    assert_eq!(code(&client, full.clone().with("Mcp-Param-Region", "us")).await, (400, -32020));
    assert_eq!(code(&client, full.header("Mcp-Param-Region", "eu")).await, (400, -32020));
    let absent = HttpRequest::modern("1", "tools/call", &message::call("region_tool", r#"{"region":null}"#));
    assert_eq!(client.send(&absent).await.status, 200);
    assert_eq!(code(&client, absent.header("Mcp-Param-Region", "")).await, (400, -32020));
}

#[tokio::test]
async fn the_status_follows_the_error() {
    let (_server, client) = start(&[]).await;
    let error = |code: i64| {
        let arguments = format!(r#"{{"code":{code},"data":{{"requiredCapabilities":{{"sampling":{{}}}}}}}}"#);
        HttpRequest::modern("1", "tools/call", &message::call("rpc_error", &arguments))
    };
    assert_eq!(code(&client, error(-32021)).await, (400, -32021));
    assert_eq!(code(&client, error(-32601)).await, (404, -32601));
    assert_eq!(code(&client, error(-32603)).await, (200, -32603));
}

#[tokio::test]
async fn progress_is_on_the_stream_of_its_request() {
    let (_server, client) = start(&[]).await;
    let meta = modern_meta().replacen('{', r#"{"progressToken":5,"#, 1);
    let request = HttpRequest::modern_with_meta("1", "tools/call", &message::call("progress", r#"{"n":2}"#), &meta);
    let methods: Vec<_> =
        client.send(&request).await.messages().await.iter().map(|message| message.method().is_some()).collect();
    assert_eq!(methods, [true, true, false]);
}

#[tokio::test]
async fn a_closed_stream_is_a_cancellation_the_server_sees() {
    let (_server, mut client) = start(&[]).await;
    let stall = HttpRequest::modern(r#""gone""#, "tools/call", &message::call("stall", "{}"));
    let connection = client.send_and_leave_open(&stall).await;
    client.modern_call("seen", r#"{"wait_for":"stall"}"#).await.result();
    drop(connection);
    let seen = client.modern_call("seen", r#"{"wait_for":"closed \"gone\""}"#).await.value();
    assert_eq!(seen["result"]["structuredContent"]["http"], serde_json::json!(["closed \"gone\""]));
}

#[tokio::test]
async fn a_listener_hears_of_a_new_tool() {
    let (_server, mut client) = start(&[]).await;
    let listen =
        HttpRequest::modern(r#""l""#, "subscriptions/listen", r#"{"notifications":{"toolsListChanged":true}}"#);
    let mut stream = client.send(&listen).await;
    let first = stream.next_message().await.expect("the acknowledgment");
    assert_eq!(first.method().as_deref(), Some("notifications/subscriptions/acknowledged"));
    client.modern_call("add_tool", "{}").await;
    let changed = stream.next_message().await.expect("the change");
    assert!(changed.params().contains(r#""io.modelcontextprotocol/subscriptionId":"l""#));
    let update = r#"{"method":"notifications/resources/updated","params":{"uri":"memo://a"},"to":"listeners"}"#;
    client.modern_call("notify", update).await;
    let updated = stream.next_message().await.expect("the update");
    assert_eq!(updated.params(), r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"},"uri":"memo://a"}"#);
    client.modern_call("end_streams", "{}").await;
    assert_eq!(stream.next_message().await, None);
}
