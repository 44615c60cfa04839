//! Stateless requests over HTTP: which are served, which are refused, and with what status.

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::in_process::{HttpProxy, Proxy};
use crate::support::message;
use crate::support::modern::{header_text, meta_members, modern_meta};
use crate::support::program::Program;
use crate::support::programs::fake_backend;

const PASSTHROUGH: &str = "sessionInit: {preset: passthrough}";

async fn start() -> (HttpProxy, HttpClient) {
    let config = Config::new().server("fake", &fake_backend(["--era", "legacy"])).section(PASSTHROUGH);
    let proxy = Proxy::new(&config).http().await;
    let mut client = proxy.client();
    // A request that waits for the server to start gets its status before its answer.
    client.modern_call("echo", "{}").await.result();
    (proxy, client)
}

/// A stateless server over HTTP, with a config that knows it.
async fn stateless_backend(flags: &[&str]) -> (Program, Config) {
    let flags = ["--era", "modern", "--http", "127.0.0.1:0"].into_iter().chain(flags.iter().copied());
    let (server, url) = Program::start_server(fake_backend(flags)).await;
    (server, Config::new().remote("fake", &url))
}

fn call(tool: &str, arguments: &str) -> HttpRequest {
    HttpRequest::modern("1", "tools/call", &message::call(tool, arguments))
}

fn list() -> HttpRequest {
    HttpRequest::modern("1", "tools/list", "{}")
}

async fn status(client: &HttpClient, request: &HttpRequest) -> u16 {
    client.send(request).await.status
}

/// The status, and the code of the error, which has the id of the request.
async fn refusal(client: &HttpClient, request: &HttpRequest) -> (u16, i64) {
    let reply = client.send(request).await;
    let (status, answer) = (reply.status, reply.response().await);
    assert_eq!(answer.id().as_deref(), Some("1"), "{}", answer.raw);
    (status, answer.error_code())
}

#[tokio::test]
async fn a_request_without_its_meta_is_refused_whatever_its_headers_say() {
    let (_proxy, client) = start().await;
    let capabilities = r#""io.modelcontextprotocol/clientCapabilities""#;
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let bare = HttpRequest::post(message::request("1", "tools/list", "{}"))
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/list");
    assert_eq!(refusal(&client, &bare).await, (400, -32602));
    for meta in [
        "{}".to_owned(),
        format!("{{{version}}}"),
        format!("{{{capabilities}:{{}}}}"),
        format!("{{{version},{capabilities}:[]}}"),
        format!(r#"{{"io.modelcontextprotocol/protocolVersion":20260728,{capabilities}:{{}}}}"#),
        "7".to_owned(),
    ] {
        let request = HttpRequest::modern_with_meta("1", "tools/list", "{}", &meta);
        assert_eq!(refusal(&client, &request).await, (400, -32602), "{meta}");
    }
}

#[tokio::test]
async fn a_version_header_that_differs_from_the_body_is_refused_even_if_nobody_knows_the_body_s() {
    let (_proxy, client) = start().await;
    let meta = format!("{{{}}}", meta_members("v999", "{}"));
    let request = HttpRequest::modern_with_meta("1", "tools/list", "{}", &meta);
    assert_eq!(refusal(&client, &request).await, (400, -32020));
    assert_eq!(refusal(&client, &list().with("MCP-Protocol-Version", "2025-11-25")).await, (400, -32020));
    assert_eq!(refusal(&client, &list().header("MCP-Protocol-Version", "2026-07-28")).await, (400, -32020));
}

#[tokio::test]
async fn an_unknown_version_is_told_which_ones_there_are() {
    let (_proxy, mut client) = start().await;
    let discovered = client.modern("server/discover", "{}").await.value();
    for version in ["1900-01-01", "2025-11-25", "2099-01-01"] {
        let meta = format!("{{{}}}", meta_members(version, "{}"));
        let request = HttpRequest::modern_with_meta("1", "tools/list", "{}", &meta);
        let reply = client.send(&request.with("MCP-Protocol-Version", version)).await;
        assert_eq!(reply.status, 400);
        let error = reply.response().await.value()["error"].clone();
        assert_eq!((&error["code"], &error["data"]["requested"]), (&(-32022).into(), &version.into()));
        assert_eq!(error["data"]["supported"], discovered["result"]["supportedVersions"]);
    }
}

#[tokio::test]
async fn a_stateless_body_without_a_version_header_is_refused() {
    let (_proxy, client) = start().await;
    assert_eq!(refusal(&client, &list().without("MCP-Protocol-Version")).await, (400, -32020));
}

#[tokio::test]
async fn names_of_headers_have_no_case_and_their_values_do() {
    let (_proxy, client) = start().await;
    let echo = call("echo", "{}");
    for name in ["mcp-method", "MCP-METHOD"] {
        assert_eq!(status(&client, &echo.clone().without("Mcp-Method").header(name, "tools/call")).await, 200);
    }
    assert_eq!(status(&client, &echo.clone().with("Mcp-Name", "  echo  ")).await, 200);
    assert_eq!(status(&client, &echo.clone().with("Mcp-Method", " tools/call ")).await, 200);
    for wrong in [
        list().with("Mcp-Method", "TOOLS/LIST"),
        list().with("Mcp-Method", "tools/call"),
        list().without("Mcp-Method"),
        list().header("Mcp-Method", "tools/list"),
        echo.clone().with("Mcp-Name", "ECHO"),
        echo.clone().without("Mcp-Name"),
        echo.clone().header("Mcp-Name", "echo"),
    ] {
        assert_eq!(refusal(&client, &wrong).await, (400, -32020), "{:?}", wrong.headers);
    }
    assert_eq!(status(&client, &list().header("Mcp-Name", "whatever")).await, 200);
}

/// An unknown tool is an answer to a request whose headers were in order.
#[tokio::test]
async fn any_name_can_be_said_in_a_header() {
    let (_proxy, client) = start().await;
    let in_order = (200, -32602);
    for name in ["日本語", "=?base64?x?=", " lead", "=?BASE64?ZWNobw==?=", "=?base64?ZWNobw==", "a b"] {
        assert_eq!(refusal(&client, &call(name, "{}")).await, in_order, "{name}");
    }
    assert!(header_text("日本語").starts_with("=?base64?"));
    assert_eq!(refusal(&client, &call("=?base64?x?=", "{}").with("Mcp-Name", "=?base64?x?=")).await, (400, -32020));
    let echo = call("echo", "{}");
    assert_eq!(status(&client, &echo.clone().with("Mcp-Name", "=?base64?ZWNobw==?=")).await, 200);
    for wrong in ["=?base64?ZWNobw?=", "=?base64?ZWN%bw==?=", "=?BASE64?ZWNobw==?=", "=?base64?/w==?="] {
        assert_eq!(refusal(&client, &echo.clone().with("Mcp-Name", wrong)).await, (400, -32020), "{wrong}");
    }
}

#[tokio::test]
async fn marked_arguments_must_be_repeated_in_headers() {
    let (_proxy, client) = start().await;
    let full = call("region_tool", r#"{"region":"eu","count":42,"options":{"fast":true}}"#)
        .header("Mcp-Param-Region", "eu")
        .header("Mcp-Param-Count", "42")
        .header("Mcp-Param-Fast", "true");
    assert_eq!(status(&client, &full).await, 200);
    assert_eq!(status(&client, &full.clone().with("mcp-param-count", "42.0")).await, 200);
    assert_eq!(status(&client, &full.clone().with("Mcp-Param-Region", "=?base64?ZXU=?=")).await, 200);
    assert_eq!(status(&client, &full.clone().header("Mcp-Param-Unknown", "x")).await, 200);
    for wrong in [
        full.clone().without("Mcp-Param-Region"),
        full.clone().without("Mcp-Param-Fast"),
        full.clone().with("Mcp-Param-Region", "EU"),
        full.clone().with("Mcp-Param-Region", ""),
        full.clone().with("Mcp-Param-Count", "43"),
        full.clone().with("Mcp-Param-Count", "many"),
        full.clone().with("Mcp-Param-Fast", "True"),
        full.clone().header("Mcp-Param-Region", "eu"),
    ] {
        assert_eq!(refusal(&client, &wrong).await, (400, -32020), "{:?}", wrong.headers);
    }
}

#[tokio::test]
async fn marked_arguments_that_are_empty_null_or_beside_odd_ones_are_compared_too() {
    let (_proxy, client) = start().await;
    let null = call("region_tool", r#"{"region":null}"#);
    assert_eq!(status(&client, &null).await, 200);
    assert_eq!(refusal(&client, &null.header("Mcp-Param-Region", "null")).await, (400, -32020));
    let empty = call("region_tool", r#"{"region":""}"#);
    assert_eq!(status(&client, &empty.clone().header("Mcp-Param-Region", "")).await, 200);
    assert_eq!(refusal(&client, &empty).await, (400, -32020));
    let odd = call("region_tool", r#"{"region":"eu","huge":1e400,"lone":"\ud800"}"#);
    assert_eq!(status(&client, &odd.clone().header("Mcp-Param-Region", "eu")).await, 200);
    assert_eq!(refusal(&client, &odd).await, (400, -32020));
}

const BAD: [&str; 5] =
    ["bad_header_number", "bad_header_items", "bad_header_duplicate", "bad_header_empty", "bad_header_space"];

#[tokio::test]
async fn a_tool_that_marks_its_arguments_wrongly_is_left_out_alone() {
    let (_server, config) = stateless_backend(&["--bad-headers", "--only", "echo,region_tool"]).await;
    let proxy = Proxy::new(&config.section(PASSTHROUGH)).http().await;
    assert_eq!(proxy.client().modern("tools/list", "{}").await.tool_names(), ["echo", "region_tool"]);
}

/// There nobody reads the marks, and a strict client would drop the tool because of them.
#[tokio::test]
async fn a_server_without_headers_keeps_wrongly_marked_tools_and_loses_the_marks() {
    let command = fake_backend(["--era", "legacy", "--bad-headers", "--only", "region_tool"]);
    let proxy = Proxy::new(&Config::new().server("fake", &command).section(PASSTHROUGH)).http().await;
    let listed = proxy.client().modern("tools/list", "{}").await;
    assert_eq!(listed.tool_names()[1..], BAD);
    for tool in listed.value()["result"]["tools"].as_array().expect("a list") {
        let marked = tool.to_string().contains("x-mcp-header");
        assert_eq!(marked, tool["name"] == "region_tool", "{tool}");
    }
    assert_eq!(status(&proxy.client(), &call("bad_header_number", r#"{"n":1}"#)).await, 200);
}

const RENAMED: &str = r#"
sessionInit:
  script: |
    for meta, call in backends()["fake"].tools():
        publish(meta.replace(name = "renamed"), call)
        publish(*bind((meta.replace(name = "bound"), call), region = "north"))
"#;

/// What the server at the end got: its own name and its own headers.
fn told_to_the_server(answer: &message::Message, region: &str) {
    let seen = answer.structured();
    for header in [r#"["mcp-name","region_tool"]"#, &format!(r#"["mcp-param-region","{}"]"#, header_text(region))] {
        assert!(seen.contains(header), "{header} is not in {seen}");
    }
    assert!(seen.contains(r#"["mcp-param-count","3"]"#), "{seen}");
    assert!(seen.contains(&format!(r#""region":"{region}""#)), "{seen}");
}

#[tokio::test]
async fn headers_of_a_renamed_tool_follow_the_names_of_each_side() {
    let (_server, config) = stateless_backend(&["--only", "region_tool"]).await;
    let proxy = Proxy::new(&config.section(RENAMED)).http().await;
    let mut client = proxy.client();
    let renamed =
        call("renamed", r#"{"region":"eu","count":3}"#).header("Mcp-Param-Region", "eu").header("Mcp-Param-Count", "3");
    told_to_the_server(&client.send(&renamed).await.response().await, "eu");
    assert_eq!(refusal(&client, &renamed.with("Mcp-Name", "region_tool")).await, (400, -32020));
    let bound = call("bound", r#"{"count":3}"#).header("Mcp-Param-Count", "3");
    told_to_the_server(&client.send(&bound).await.response().await, "north");

    client.initialize("2025-11-25").await.result();
    told_to_the_server(&client.call("renamed", r#"{"region":"日本","count":3}"#).await, "日本");
    told_to_the_server(&client.call("bound", r#"{"count":3}"#).await, "north");
}

#[tokio::test]
async fn methods_of_the_older_era_and_unknown_ones_do_not_exist_here() {
    let (_proxy, client) = start().await;
    let initialize = message::initialize_params("2025-11-25", "{}");
    for (method, params) in [
        ("initialize", initialize.as_str()),
        ("ping", "{}"),
        ("logging/setLevel", r#"{"level":"info"}"#),
        ("resources/subscribe", r#"{"uri":"memo://a"}"#),
        ("resources/unsubscribe", r#"{"uri":"memo://a"}"#),
        ("tasks/result", r#"{"taskId":"t"}"#),
        ("tasks/list", "{}"),
        ("no/such", "{}"),
    ] {
        assert_eq!(refusal(&client, &HttpRequest::modern("1", method, params)).await, (404, -32601), "{method}");
    }
}

#[tokio::test]
async fn an_error_known_at_once_decides_the_status_and_a_late_one_comes_in_the_stream() {
    let (_proxy, mut client) = start().await;
    let error = r#""code":-32021,"message":"m","data":{"requiredCapabilities":{"sampling":{}}}"#;
    assert_eq!(refusal(&client, &call("rpc_error", &format!("{{{error}}}"))).await, (400, -32021));
    let late = client.send(&call("rpc_error", &format!(r#"{{{error},"wait_for":"now!"}}"#))).await;
    assert_eq!((late.status, late.is_event_stream()), (200, true));
    client.modern_call("echo", r#"{"a":"now!"}"#).await.result();
    let answer = late.response().await;
    assert_eq!(answer.member("error"), Some(format!("{{{error}}}")));
}

#[tokio::test]
async fn a_client_that_does_not_say_who_it_is_is_served() {
    let (_proxy, client) = start().await;
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let meta = format!(r#"{{{version},"io.modelcontextprotocol/clientCapabilities":{{}}}}"#);
    let request = HttpRequest::modern_with_meta("1", "tools/call", &message::call("echo", "{}"), &meta);
    assert_eq!(client.send(&request).await.response().await.structured(), "{}");
}

#[tokio::test]
async fn a_log_level_nobody_knows_is_refused() {
    let (_proxy, client) = start().await;
    let meta = modern_meta().replacen('{', r#"{"io.modelcontextprotocol/logLevel":"loud","#, 1);
    assert_eq!(refusal(&client, &HttpRequest::modern_with_meta("1", "tools/list", "{}", &meta)).await.1, -32602);
}

#[tokio::test]
async fn a_session_id_means_nothing_here_and_none_is_given() {
    let (_proxy, client) = start().await;
    let request = call("echo", "{}").header("Mcp-Session-Id", "anything").header("Last-Event-ID", "1-1");
    let reply = client.send(&request).await;
    assert_eq!((reply.status, reply.header("mcp-session-id")), (200, None));
}

#[tokio::test]
async fn there_is_no_stream_or_end_without_a_session() {
    let (_proxy, client) = start().await;
    for request in [HttpRequest::get(), HttpRequest::delete(), HttpRequest::bare("PUT")] {
        let reply = client.send(&request).await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")), "{}", request.method);
    }
}

#[tokio::test]
async fn the_form_of_the_answer_is_one_the_client_takes() {
    let (_proxy, client) = start().await;
    assert_eq!(status(&client, &call("echo", "{}").with("Accept", "*/*")).await, 200);
    assert_eq!(status(&client, &call("echo", "{}").without("Accept")).await, 200);
    assert_eq!(status(&client, &call("echo", "{}").with("Accept", "text/html")).await, 406);

    // Long enough for an event stream, were one welcome.
    let reply = client.send(&call("slow", r#"{"ms":600}"#).with("Accept", "application/json")).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    reply.response().await.result();
}

#[tokio::test]
async fn keep_alives_are_all_that_precedes_a_silent_call_s_answer() {
    let (_proxy, mut client) = start().await;
    let mut reply = client.send(&call("seen", r#"{"wait_for":"now!"}"#)).await;
    assert_eq!((reply.header("x-accel-buffering"), reply.header("cache-control")), (Some("no"), Some("no-cache")));
    let comment = reply.next_event().await.expect("the stream is open");
    assert_eq!((comment.comments.len(), &comment.data, &comment.id), (1, &None, &None));
    client.modern_call("echo", r#"{"a":"now!"}"#).await.result();
    let answer = reply.next_event().await.expect("the answer");
    assert_eq!((answer.id, answer.retry), (None, None));
    assert!(answer.data.is_some_and(|data| data.starts_with(r#"{"jsonrpc":"2.0","id":1,"result":"#)));
    assert_eq!(reply.next_event().await, None);
}

#[tokio::test]
async fn progress_comes_before_the_answer_on_the_stream_of_its_request() {
    let (_proxy, client) = start().await;
    let meta = modern_meta().replacen('{', r#"{"progressToken":"t","#, 1);
    let request = HttpRequest::modern_with_meta("1", "tools/call", &message::call("progress", r#"{"n":3}"#), &meta);
    let messages = client.send(&request).await.messages().await;
    let told: Vec<_> = messages.iter().map(|message| message.value()["params"]["progress"].clone()).collect();
    assert_eq!(told, [1.into(), 2.into(), 3.into(), serde_json::Value::Null]);
    assert!(messages[..3].iter().all(|message| message.value()["params"]["progressToken"] == "t"));
}

#[tokio::test]
async fn pages_of_a_browser_are_served_only_from_the_endpoint_s_own_origins() {
    let (_proxy, client) = start().await;
    let (_, port) = client.host().rsplit_once(':').expect("an address has a port");
    for own in [format!("http://localhost:{port}"), format!("http://127.0.0.1:{port}")] {
        assert_eq!(status(&client, &list().header("Origin", &own)).await, 200, "{own}");
    }
    for foreign in ["http://evil", "null", "http://localhost", "http://localhost:1", "https://localhost.evil"] {
        assert_eq!(status(&client, &list().header("Origin", foreign)).await, 403, "{foreign}");
    }
    let twice = list().header("Origin", &format!("http://localhost:{port}")).header("Origin", "http://evil");
    assert_eq!(status(&client, &twice).await, 403);
    for host in ["evil", "evil.example:80"] {
        assert_eq!(status(&client, &list().header("Host", host)).await, 403, "{host}");
    }
    assert_eq!(status(&client, &list().header("Host", &format!("localhost:{port}"))).await, 200);
}
