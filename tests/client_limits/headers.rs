//! Over HTTP, headers repeat a tool's name and some of its arguments. They and the scopes of a tool go by what is published,
//! whatever the client's list calls it.

use serde_json::{Value, json};

use super::{LONG, named};
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message::{self, Message};
use crate::support::modern::modern_meta;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::temp_dir::TempDir;

const WITH_SCOPE: &str = "secret-token-of-ann";
const WITHOUT: &str = "secret-token-of-bob";

/// A tool of a stateless server, published under a long name, that wants an argument in a header and a scope. It tells the
/// headers it got.
async fn world(directory: &TempDir) -> (Program, HttpProxy) {
    let schema = json!({
        "type": "object", "required": ["$.region"],
        "properties": {"$.region": {"type": "string", "x-mcp-header": "Region"}},
    });
    let tools = json!([{"name": "region_tool", "description": "Tells.", "inputSchema": schema}]);
    let file = directory.write("tools.json", &tools.to_string()).display().to_string();
    let flags = ["--era", "modern", "--http", "127.0.0.1:0", "--tools", &file];
    let (server, url) = Program::start_server(fake_backend(flags)).await;
    let script = format!(
        "for meta, call in backends()[\"fake\"].tools():\n    publish(meta.replace(name = \"{LONG}\"), call)\n"
    );
    let tokens = format!("{{token: {WITH_SCOPE}, sub: ann, scopes: [long]}}, {{token: {WITHOUT}, sub: bob}}");
    let config = Config::new()
        .remote("fake", &url)
        .section("sessionInit: {scriptFile: policy.star}")
        .section(&format!("auth: {{tokens: [{tokens}], scopes: [{{tools: {LONG}, scopes: [long]}}]}}"));
    (server, Proxy::new(&config).file("policy.star", &script).http().await)
}

fn holder(proxy: &HttpProxy, token: &str) -> HttpClient {
    proxy.client().with_header("Authorization", &format!("Bearer {token}"))
}

/// A request of Claude Code.
fn request(method: &str, params: &str) -> HttpRequest {
    HttpRequest::modern_with_meta("1", method, params, &modern_meta().replace("test-client", "claude-code"))
}

async fn refusal(client: &HttpClient, request: &HttpRequest) -> (u16, i64) {
    let reply = client.send(request).await;
    (reply.status, reply.response().await.error_code())
}

/// What the server tells that it got.
fn told(answer: &Message) -> (Vec<String>, Value) {
    let value: Value = serde_json::from_str(&answer.structured()).expect("it is JSON");
    let headers = value["headers"].as_array().cloned().unwrap_or_default();
    let wanted = |header: &&Value| matches!(header[0].as_str(), Some("mcp-name" | "mcp-param-region"));
    let text = |header: &Value| format!("{}: {}", header[0].as_str().unwrap_or(""), header[1].as_str().unwrap_or(""));
    let mut headers: Vec<String> = headers.iter().filter(wanted).map(text).collect();
    headers.sort();
    (headers, value["arguments"].clone())
}

#[tokio::test]
async fn scopes_and_headers_of_a_tool_hold_for_its_short_name_too() {
    let directory = TempDir::new();
    let (_server, proxy) = world(&directory).await;
    let ann = holder(&proxy, WITH_SCOPE);
    let list = ann.send(&request("tools/list", "{}")).await.response().await.value();
    let tools = list["result"]["tools"].as_array().cloned().unwrap_or_default();
    let tool = named(&tools, "a_very_long");
    let short = tool["name"].as_str().expect("a name");
    let (argument, schema) = tool["inputSchema"]["properties"].as_object().and_then(|all| all.iter().next()).unwrap();
    assert_ne!((short, argument.as_str()), (LONG, "$.region"));
    assert_eq!(schema["x-mcp-header"], "Region", "{tool}");

    for (name, argument) in [(short, argument.as_str()), (LONG, "$.region"), (short, "$.region")] {
        let arguments = json!({ argument: "eu" }).to_string();
        let call = request("tools/call", &message::call(name, &arguments)).header("Mcp-Param-Region", "eu");
        // The server gets its own names, in the body and in the headers.
        let (headers, received) = told(&ann.send(&call).await.response().await);
        assert_eq!(headers, ["mcp-name: region_tool", "mcp-param-region: eu"], "{name}");
        assert_eq!(received, json!({"$.region": "eu"}), "{name}");
        // A header that is missing or differs is refused.
        for wrong in [
            call.clone().without("Mcp-Param-Region"),
            call.clone().with("Mcp-Param-Region", "us"),
            call.clone().with("Mcp-Name", "region_tool"),
        ] {
            assert_eq!(refusal(&ann, &wrong).await, (400, -32020), "{name}: {:?}", wrong.headers);
        }
        // Without the scope nobody calls it, under whatever name.
        let reply = holder(&proxy, WITHOUT).send(&call).await;
        let challenge = reply.header("www-authenticate").unwrap_or_default().to_owned();
        assert_eq!(reply.status, 403, "{name}: {challenge}");
        assert!(challenge.contains(r#"scope="long""#), "{name}: {challenge}");
    }
    // The header has the name that was sent: the other name of the same tool is another text.
    let call = request("tools/call", &message::call(short, &json!({ argument.as_str(): "eu" }).to_string()));
    let mixed = call.header("Mcp-Param-Region", "eu").with("Mcp-Name", LONG);
    assert_eq!(refusal(&ann, &mixed).await, (400, -32020));
}
