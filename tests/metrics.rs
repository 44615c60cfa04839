//! What operators see of a running proxy: metrics, health, and how it ends.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::programs::fake_backend;
use crate::support::prometheus::Prometheus;
use crate::support::proxy::{HttpProxy, Proxy};

const POLICY: &str = r#"
def on_request(request):
    if request.name == "echo" and request.arguments.get("secret"):
        fail("no secrets")

for meta, call in backends()["fake"].tools():
    publish(meta, call)
"#;

/// A proxy on HTTP with a diagnostics port, and the address of that port.
async fn proxy(sections: &str) -> (HttpProxy, String) {
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "legacy"]))
        .section("sessionInit: { scriptFile: policy.star }");
    let config = config.section("telemetry: {metrics: '127.0.0.1:0'}").section(sections);
    let proxy = Proxy::new(&config).file("policy.star", POLICY).http().await;
    let address = diagnostics(&proxy).await;
    (proxy, address)
}

/// The address of the diagnostics port.
async fn diagnostics(proxy: &HttpProxy) -> String {
    let line = proxy.program.stderr.line("metrics on ").await;
    line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address").to_owned()
}

/// The status and the body of a page.
async fn page(address: &str, path: &str) -> (u16, String) {
    let response = reqwest::get(format!("http://{address}{path}")).await.expect("the port answers");
    (response.status().as_u16(), response.text().await.expect("it is text"))
}

/// The number behind a series.
fn value(metrics: &str, series: &str) -> Option<f64> {
    metrics.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
}

#[tokio::test]
async fn every_request_is_counted_by_item_and_by_how_it_ended() {
    let (proxy, address) = proxy("").await;
    let mut client = proxy.client();
    for arguments in ["{}", "{}", r#"{"secret":1}"#] {
        client.modern_call("echo", arguments).await;
    }
    client.modern_call("no such tool \"\n", "{}").await;
    client.modern("tools/list", "{}").await;
    let (status, metrics) = page(&address, "/metrics").await;
    assert_eq!(status, 200);
    let count = |series: &str| value(&metrics, series);
    let calls = r#"mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call","#;
    assert_eq!(count(&format!(r#"{calls}gen_ai_tool_name="echo"}}"#)), Some(2.0), "{metrics}");
    assert_eq!(count(&format!(r#"{calls}gen_ai_tool_name="echo",error_type="tool_error"}}"#)), Some(1.0), "{metrics}");
    assert_eq!(count(r#"mcp_server_operation_duration_seconds_count{mcp_method_name="tools/list"}"#), Some(1.0));
    let all = r#"mcp_server_operation_duration_seconds_bucket{le="+Inf",mcp_method_name="tools/list"}"#;
    assert_eq!(count(all), Some(1.0), "the last bucket has everything\n{metrics}");
    let forwarded =
        r#"mcp_client_operation_duration_seconds_count{mcp_server_name="fake",mcp_method_name="tools/call"}"#;
    assert_eq!(count(forwarded), Some(2.0), "the refused call did not reach the server\n{metrics}");
    assert_eq!(count(r#"proxy_refused_total{reason="on_request"}"#), Some(1.0), "{metrics}");
    assert_eq!(count(r#"proxy_refused_total{reason="unknown"}"#), Some(1.0), "{metrics}");
    assert_eq!(count(r#"proxy_server_up{server="fake"}"#), Some(1.0), "{metrics}");
    assert_eq!(count("proxy_overhead_seconds_count"), Some(3.0), "{metrics}");
    assert!(!metrics.contains("no such tool"), "what a client sends is never a label\n{metrics}");
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
}

#[tokio::test]
async fn the_port_has_three_pages_and_no_visitors_from_browsers() {
    let (_proxy, address) = proxy("").await;
    assert_eq!(page(&address, "/livez").await, (200, "live\n".to_owned()));
    for (path, status) in [("/", 404), ("/mcp", 404), ("/metrics/x", 404)] {
        assert_eq!(page(&address, path).await.0, status, "{path}");
    }
    let client = reqwest::Client::new();
    let ask = |request: reqwest::RequestBuilder| async { request.send().await.expect("an answer").status().as_u16() };
    assert_eq!(ask(client.post(format!("http://{address}/metrics"))).await, 405);
    assert_eq!(ask(client.get(format!("http://{address}/metrics")).header("host", "attacker.example")).await, 403);
    assert_eq!(ask(client.get(format!("http://{address}/metrics")).header("origin", "http://a.example")).await, 403);
}

#[tokio::test]
async fn sigterm_makes_the_proxy_unready_at_once_and_loses_no_call() {
    let (mut proxy, address) = proxy("serve: {drainDelay: 2s, drainTimeout: 30s}").await;
    let mut client = proxy.client();
    client.modern_call("echo", "{}").await.result();
    let ready = proxy.world.command(["status", "--ready"]).output().expect("it runs");
    assert_eq!((page(&address, "/readyz").await.0, ready.status.code()), (200, Some(0)), "{ready:?}");
    // When it is told to stop while a call runs,
    let running = HttpRequest::modern("1", "tools/call", &message::call("slow", r#"{"ms":1500}"#));
    let reply = client.send(&running).await;
    proxy.program.terminate();
    // then it says so at once, takes new requests for a while, and finishes what runs.
    while page(&address, "/readyz").await != (503, "draining\n".to_owned()) {
        tokio::task::yield_now().await;
    }
    let ready = proxy.world.command(["status", "--ready"]).stderr(Stdio::piped()).output().expect("it runs");
    assert_eq!(ready.status.code(), Some(1), "{ready:?}");
    client.modern_call("echo", "{}").await.result();
    reply.response().await.result();
    assert_eq!(proxy.program.exit().await.code(), Some(0));
}

#[tokio::test]
async fn a_stream_that_ends_with_the_proxy_says_when_to_ask_again() {
    let (proxy, _) = proxy("serve: {drainTimeout: 30s}").await;
    // Given a stateless client that listens,
    let listen = HttpRequest::modern("1", "subscriptions/listen", r#"{"notifications":{"toolsListChanged":true}}"#);
    let mut stream = proxy.client().send(&listen).await;
    let first = stream.next_event().await.expect("an acknowledgment");
    assert_eq!(first.retry, None);
    // when the proxy is told to stop,
    proxy.program.terminate();
    // then the listen has its result, and the last event a time to wait.
    let last = loop {
        let event = stream.next_event().await.expect("the stream ends with a result");
        if event.data.as_ref().is_some_and(|data| data.contains("\"result\"")) {
            break event;
        }
    };
    assert_eq!(last.retry.as_deref(), Some("1000"));
    assert_eq!(stream.next_event().await, None);
}

#[tokio::test]
async fn a_port_that_is_taken_is_a_warning() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let section = format!("telemetry: {{metrics: '{}'}}", taken.local_addr().expect("it is bound"));
    let config = Config::new().server("fake", &fake_backend(["--era", "legacy"])).section(&section);
    let proxy = Proxy::new(&config).http().await;
    proxy.program.stderr.line("continuing without metrics").await;
    assert!(!proxy.client().modern_call("echo", "{}").await.result().is_empty());
}

#[tokio::test]
#[ignore = "a real Prometheus"]
async fn prometheus_scrapes_the_metrics_and_reads_the_alert_rules() {
    let (proxy, address) = proxy("").await;
    proxy.client().modern_call("echo", "{}").await.result();
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/contrib/alerts.yaml");
    let Some(prometheus) = Prometheus::scraping(&address, rules) else { return };
    assert_eq!(prometheus.scrape_error().await, "");
    let calls = r#"mcp_server_operation_duration_seconds_count{gen_ai_tool_name="echo"}"#;
    assert_eq!(prometheus.value(calls).await, 1.0);
    assert_eq!(prometheus.value(r#"proxy_server_up{server="fake"}"#).await, 1.0);
    assert!(prometheus.value(r#"proxy_definition_tokens{server="fake",stage="offered"}"#).await > 100.0);
    let quantile = "histogram_quantile(0.95, mcp_client_operation_duration_seconds_bucket)";
    assert!(prometheus.value(quantile).await > 0.0);
    assert!(prometheus.rules().await > 5);
}

#[tokio::test]
async fn sessions_questions_and_runs_of_the_script_are_counted() {
    let (proxy, address) = proxy("").await;
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
    client.request("tools/list", "{}").await.result();
    assert_eq!(client.delete().await, 204);
    // A stateless client gets the question of a server as a result, and sends its answer with a retry.
    let (tool, form) = (json!({"name": "ask", "arguments": {}}), r#"{"elicitation":{"form":{}}}"#);
    let asked: Value = client.modern_with("tools/call", &tool.to_string(), form).await.value()["result"].clone();
    let questions = asked["inputRequests"].as_object().unwrap_or_else(|| panic!("no question but {asked}"));
    let declined = |(key, _): (&String, &Value)| (key.clone(), json!({"action": "decline"}));
    let mut retry = tool;
    retry["inputResponses"] = questions.iter().map(declined).collect::<serde_json::Map<_, _>>().into();
    retry["requestState"] = asked["requestState"].clone();
    client.modern_with("tools/call", &retry.to_string(), form).await.result();
    loop {
        let metrics = page(&address, "/metrics").await.1;
        assert!(value(&metrics, "proxy_surface_build_seconds_count") >= Some(1.0), "{metrics}");
        assert_eq!(value(&metrics, r#"proxy_elicitations_total{action="decline"}"#), Some(1.0), "{metrics}");
        // The session is over when nobody uses it any more.
        if value(&metrics, "mcp_server_session_duration_seconds_count") == Some(1.0) {
            break;
        }
    }
}

#[tokio::test]
async fn calls_that_a_rate_limit_refuses_are_counted_apart() {
    let limits = "rateLimiting: {global: {maxTokens: 1, refillPeriod: 1h}}";
    let config = Config::new().server("fake", &fake_backend(["--resources"])).section(limits);
    let proxy = Proxy::new(&config.section("telemetry: {metrics: '127.0.0.1:0'}")).http().await;
    let address = diagnostics(&proxy).await;
    let mut client = proxy.client();
    client.modern_call("echo", "{}").await.result();
    // The limit of tools answers with an error result, that of resources with `fail()`.
    client.modern_call("echo", "{}").await.result();
    client.modern("resources/read", r#"{"uri":"memo://greeting"}"#).await;
    let metrics = page(&address, "/metrics").await.1;
    assert_eq!(value(&metrics, r#"proxy_refused_total{reason="rate_limit"}"#), Some(2.0), "{metrics}");
    assert_eq!(value(&metrics, r#"proxy_refused_total{reason="on_request"}"#), Some(0.0), "{metrics}");
}

/// The metrics that a text names, without the suffixes that a histogram adds.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let metrics = words.filter(|word| {
        let own = word.starts_with("proxy_") || word.starts_with("mcp_");
        own && !word.starts_with("mcp_method") && !word.starts_with("mcp_server_name")
    });
    let whole = |word: &str| {
        ["_bucket", "_count", "_sum"].into_iter().find_map(|end| word.strip_suffix(end).map(str::to_owned))
    };
    metrics.map(|word| whole(word).unwrap_or_else(|| word.to_owned())).collect()
}

#[tokio::test]
async fn the_docs_the_dashboard_and_the_alerts_name_metrics_that_there_are() {
    let sections = "audit: {file: audit.jsonl, arguments: none}\nprofiles: {some: {servers: ['*']}}";
    let (proxy, address) = proxy(sections).await;
    let mut of_profile = HttpClient::new(&format!("{}/some", proxy.url), proxy.program.stderr.clone());
    of_profile.modern("tools/list", "{}").await.result();
    let mut client = proxy.client();
    client.modern_call("echo", r#"{"secret":1}"#).await;
    client.modern_call("echo", "{}").await.result();
    // The comments name counters without `_total`.
    let text = page(&address, "/metrics").await.1;
    let series: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let metrics = named(&series.join("\n"));
    let read = |path: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path);
    let guide = read("docs/guides/operations.md");
    let section = guide.split("\n## ").find(|section| section.starts_with("Metrics"));
    let documented = named(section.expect("a section on metrics"));
    let never_failed: BTreeSet<String> = ["proxy_script_failures_total".to_owned()].into();
    assert_eq!(&metrics | &never_failed, documented);
    for path in ["contrib/grafana.json", "contrib/alerts.yaml"] {
        let unknown: Vec<_> = named(&read(path)).difference(&documented).cloned().collect();
        assert!(unknown.is_empty(), "{path}: {unknown:?}");
    }
}
