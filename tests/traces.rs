//! Traces: what a collector gets of a call, what servers get to know, and what happens without a collector that works.

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use serde_json::Value;

use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::message::{self, Message};
use crate::support::modern::{VERSION, meta_members};
use crate::support::otlp_receiver::{Answer, OtlpReceiver, attribute};
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";
const TOKEN: &str = "0123456789abcdef0123";

/// Publishes the server's tool under another name, and one that calls the server twice.
const POLICY: &str = r#"
[(meta, params)] = backends()["fake"].tools()

def twice(args):
    params(args)
    return params(args)

publish(meta.replace(name = "my_params"), params)
publish(metadata("twice", "", {"type": "object"}, {}), twice)
"#;

fn world(collector: &str, keys: &str, sections: &str) -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "legacy", "--only", "params"]))
        .section("sessionInit: { scriptFile: policy.star }")
        .section(&format!("telemetry: {{ otlp: {{ endpoint: '{collector}', {keys} }} }}"))
        .section(sections);
    Proxy::new(&config).file("policy.star", POLICY)
}

fn parent(sampled: bool) -> String {
    format!("00-{TRACE}-{SPAN}-0{}", u8::from(sampled))
}

/// The params of a call with a `traceparent` and baggage.
fn params(tool: &str, parent: &str) -> String {
    format!(
        r#"{{"_meta":{{"traceparent":"{parent}","tracestate":"a=1","baggage":"user=1"}},"name":"{tool}","arguments":{{}}}}"#
    )
}

/// A call over HTTP by a client without a session.
fn request(tool: &str, parent: &str) -> HttpRequest {
    let meta = format!(r#"{{{},"traceparent":"{parent}"}}"#, meta_members(VERSION, "{}"));
    HttpRequest::modern_with_meta("7", "tools/call", &message::call(tool, "{}"), &meta)
}

/// `_meta` as the server got it.
fn seen(answer: &Message) -> Value {
    serde_json::from_str::<Value>(&answer.structured()).expect("it is JSON")["_meta"].take()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

#[tokio::test]
async fn a_traced_call_continues_the_trace_of_the_client_through_to_the_server() {
    let collector = OtlpReceiver::start().await;
    let mut proxy = world(&collector.url, "headers: { x-key: '${KEY}' }", "audit: { file: audit.jsonl }")
        .environment("KEY", "s3cret-key")
        .environment("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
        .stdio();
    proxy.client.initialize("2025-11-25").await.result();
    // When a client that is a part of a trace calls a tool,
    let answer = proxy.client.request("tools/call", &params("my_params", &parent(true))).await;
    proxy.client.close_stdin();
    let log = proxy.client.stderr().clone();
    proxy.client.finish().await;
    // then the call is a span of that trace, and the call of the server is a span below it.
    let spans = collector.spans(2, &log).await;
    let (calls, servers) = (named(&spans, "tools/call my_params"), named(&spans, "tools/call params"));
    assert_eq!((calls.len(), servers.len()), (1, 1), "{spans:?}");
    let (call, server) = (calls[0], servers[0]);
    assert_eq!((call.kind(), server.kind()), (SpanKind::Server, SpanKind::Client));
    assert_eq!((hex(&call.trace_id), hex(&call.parent_span_id)), (TRACE.to_owned(), SPAN.to_owned()));
    assert_eq!((&server.trace_id, &server.parent_span_id), (&call.trace_id, &call.span_id));
    assert_eq!(call.trace_state, "a=1");
    assert!(call.start_time_unix_nano <= server.start_time_unix_nano);
    assert!(call.end_time_unix_nano >= server.end_time_unix_nano && server.end_time_unix_nano > 0);
    for (key, expected) in [
        ("mcp.method.name", "tools/call"),
        ("gen_ai.tool.name", "my_params"),
        ("network.transport", "pipe"),
        ("mcp.protocol.version", "2025-11-25"),
        ("mcp.server.name", "fake"),
    ] {
        assert_eq!(attribute(&call.attributes, key), Some(expected), "{key}");
    }
    assert!(attribute(&call.attributes, "mcp.proxy.policy").is_some_and(|policy| policy.starts_with("sha256:")));
    assert_eq!(attribute(&server.attributes, "mcp.proxy.published_name"), Some("my_params"));
    // The server knows its parent, and does not get the baggage.
    let ours = format!("00-{TRACE}-{}-01", hex(&server.span_id));
    assert_eq!(seen(&answer), serde_json::json!({"traceparent": ours, "tracestate": "a=1"}));
    let export = collector.exports().remove(0);
    assert_eq!(export.path, "/v1/traces");
    assert_eq!(export.headers["content-type"], "application/x-protobuf");
    assert_eq!(export.headers["x-key"], "s3cret-key");
    assert_eq!(attribute(&export.resource, "service.name"), Some("proxy"));
    assert_eq!(attribute(&export.resource, "deployment.environment"), Some("test"));
    assert!(!log.text().contains("s3cret-key"), "{}", log.text());
    let audit = std::fs::read_to_string(proxy.world.directory.path().join("audit.jsonl")).expect("it was written");
    assert!(audit.contains(&format!(r#""trace":"{TRACE}""#)), "{audit}");
}

#[tokio::test]
async fn a_call_that_is_made_again_is_an_event_and_a_remote_server_has_an_address() {
    let collector = OtlpReceiver::start().await;
    let server = fake_backend(["--era", "legacy", "--only", "fail", "--http", "127.0.0.1:0"]);
    let (_server, url) = Program::start_server(server).await;
    let config = Config::new()
        .remote("fake", &url)
        .section("sessionInit: { scriptFile: policy.star }")
        .section(&format!("telemetry: {{ otlp: {{ endpoint: '{}' }} }}", collector.url));
    let policy = "load('@proxy//lib@1.star', 'with_retry')\n\
        [(meta, call)] = backends()['fake'].tools()\n\
        publish(meta, with_retry(call, attempts = 3, wait = 0))\n";
    let mut proxy = Proxy::new(&config).file("policy.star", policy).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    // When a handler tries a tool that fails three times,
    proxy.client.request("tools/call", &params("fail", &parent(true))).await.result();
    proxy.client.close_stdin();
    let log = proxy.client.stderr().clone();
    proxy.client.finish().await;
    // then the two later tries are events of the request,
    let spans = collector.spans(5, &log).await;
    let of_kind = |kind: SpanKind| -> Vec<&Span> { spans.iter().filter(|span| span.kind() == kind).collect() };
    let events: Vec<&str> = of_kind(SpanKind::Server)[0].events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(events, ["retry", "retry"], "{spans:?}");
    // and each of the three calls says where the server is.
    let calls = of_kind(SpanKind::Client);
    assert_eq!(calls.len(), 3, "{spans:?}");
    for call in calls {
        assert_eq!(attribute(&call.attributes, "network.transport"), Some("tcp"));
        assert_eq!(attribute(&call.attributes, "server.address"), Some("127.0.0.1"));
    }
}

#[tokio::test]
async fn what_is_not_sampled_reaches_the_server_as_it_was_sent() {
    let collector = OtlpReceiver::start().await;
    let mut proxy = world(&collector.url, "sampler: parentbased_always_on", "").stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let sent = format!(r#"{{"vendor/n":1.10,  "traceparent":"{}","tracestate":"a=1"}}"#, parent(false));
    let params = format!(r#"{{"_meta":{sent},"name":"my_params","arguments":{{}}}}"#);
    let answer = proxy.client.request("tools/call", &params).await.structured();
    assert_eq!(message::member(&answer, "_meta").as_deref(), Some(sent.as_str()), "{answer}");
    // Baggage never leaves, unless the config says so.
    let answer = proxy.client.request("tools/call", &self::params("my_params", &parent(false))).await;
    assert_eq!(seen(&answer), serde_json::json!({"traceparent": parent(false), "tracestate": "a=1"}));
    // A call without a trace begins one, and the run of a handler that calls twice has two spans below its own.
    proxy.client.call("twice", "{}").await.result();
    proxy.client.close_stdin();
    let log = proxy.client.stderr().clone();
    proxy.client.finish().await;
    let spans = collector.spans(4, &log).await;
    let (twice, handler) = (named(&spans, "tools/call twice"), named(&spans, "handler policy.star:9"));
    let calls = named(&spans, "tools/call params");
    assert_eq!((twice.len(), handler.len(), calls.len()), (1, 1, 2), "{spans:?}");
    assert_eq!((handler[0].kind(), &handler[0].parent_span_id), (SpanKind::Internal, &twice[0].span_id));
    let is_below = |span: &&Span| span.parent_span_id == handler[0].span_id && span.trace_id == twice[0].trace_id;
    assert!(calls.iter().all(is_below), "{spans:?}");
    assert!(twice[0].parent_span_id.is_empty() && spans.iter().all(|span| hex(&span.trace_id) != TRACE), "{spans:?}");
}

#[tokio::test]
async fn the_sampled_flag_of_an_anonymous_client_does_not_count() {
    let collector = OtlpReceiver::start().await;
    // Given a proxy that samples only what its clients sample,
    let anonymous = world(&collector.url, "sampler: parentbased_always_off", "").http().await;
    let answer = anonymous.client().send(&request("my_params", &parent(true))).await.response().await;
    assert_eq!(seen(&answer)["traceparent"], parent(true), "it is forwarded, and not traced");
    let tokens = format!("auth: {{ tokens: [{{ token: {TOKEN}, sub: ann }}] }}");
    let known = world(&collector.url, "sampler: parentbased_always_off", &tokens).http().await;
    let client = known.client().with_header("Authorization", &format!("Bearer {TOKEN}"));
    // when a known client asks for it with `_meta`, over HTTP as a part of another trace,
    let ambient = "00-11111111111111111111111111111111-2222222222222222-01";
    let both = request("my_params", &parent(true)).header("traceparent", ambient);
    let answer = client.send(&both).await.response().await;
    // or with the header alone,
    let alone = HttpRequest::modern("8", "tools/call", &message::call("my_params", "{}"));
    client.send(&alone.header("traceparent", ambient)).await.response().await;
    for mut proxy in [anonymous, known] {
        proxy.program.terminate();
        proxy.program.exit().await;
    }
    // then only its calls are traced.
    let log = crate::support::stderr_log::StderrLog::none();
    let spans = collector.spans(4, &log).await;
    let calls = named(&spans, "tools/call my_params");
    let by_trace = |trace: &str| calls.iter().find(|span| hex(&span.trace_id) == trace).expect("it is traced");
    let (both, alone) = (by_trace(TRACE), by_trace(&"1".repeat(32)));
    assert_eq!((spans.len(), calls.len()), (4, 2), "{spans:?}");
    assert_eq!((hex(&both.parent_span_id), hex(&both.links[0].span_id)), (SPAN.to_owned(), "2".repeat(16)));
    assert_eq!((hex(&alone.parent_span_id), alone.links.len()), ("2".repeat(16), 0));
    assert_eq!(attribute(&both.attributes, "jsonrpc.request.id"), Some("7"));
    let server = spans.iter().find(|span| span.parent_span_id == both.span_id).expect("a span of the server's call");
    assert_eq!(seen(&answer)["traceparent"], format!("00-{TRACE}-{}-01", hex(&server.span_id)));
}

#[tokio::test]
async fn a_collector_that_hangs_hurts_no_call_and_does_not_keep_the_proxy_alive() {
    let collector = OtlpReceiver::answering(Answer::Hang).await;
    let mut proxy = world(&collector.url, "sampler: always_on", "").http().await;
    let mut client = proxy.client();
    client.modern_call("my_params", "{}").await.result();
    // When the collector has got spans and does not answer,
    collector.export(&proxy.program.stderr).await;
    // then calls go on, and the proxy ends in order.
    client.modern_call("my_params", "{}").await.result();
    proxy.program.terminate();
    assert_eq!(proxy.program.exit().await.code(), Some(0));
    let log = proxy.program.stderr.whole().await;
    assert!(log.contains("the last traces were not sent"), "{log}");
}

#[tokio::test]
async fn a_collector_that_refuses_is_told_once() {
    let collector = OtlpReceiver::answering(Answer::Status(401)).await;
    let mut proxy = world(&collector.url, "sampler: always_on", "").stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let log = proxy.client.stderr().clone();
    // When it refuses a batch, and the next one,
    proxy.client.call("my_params", "{}").await.result();
    collector.export(&log).await;
    proxy.client.call("my_params", "{}").await.result();
    proxy.client.close_stdin();
    proxy.client.finish().await;
    // then there is one warning.
    assert!(collector.exports().len() > 1);
    let log = log.whole().await;
    assert_eq!(log.matches("cannot send traces to").count(), 1, "{log}");
    assert!(log.contains("HTTP 401"), "{log}");
}

#[tokio::test]
async fn the_environment_of_opentelemetry_names_a_collector_and_its_faults() {
    let collector = OtlpReceiver::start().await;
    let config = Config::new().server("fake", &fake_backend(["--era", "legacy", "--only", "echo"]));
    let mut proxy = Proxy::new(&config)
        .environment("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)
        .environment("OTEL_TRACES_SAMPLER", "always_on")
        .environment("OTEL_SERVICE_NAME", "front")
        .stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.call("echo", "{}").await.result();
    proxy.client.close_stdin();
    let log = proxy.client.stderr().clone();
    proxy.client.finish().await;
    collector.spans(2, &log).await;
    assert_eq!(attribute(&collector.exports()[0].resource, "service.name"), Some("front"));
    for (name, value, cure) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "http://localhost:4318"),
        ("OTEL_TRACES_SAMPLER", "xray", "parentbased_traceidratio"),
    ] {
        let world = Proxy::new(&config).environment("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
        let output = world.environment(name, value).serve_command().output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains(name) && text.contains(cure), "{text}");
    }
}
