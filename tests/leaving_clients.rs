//! A stateless client that goes away has cancelled its request, and the server behind hears of it once.

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

/// The four kinds of server, and how each is told that a call is cancelled.
const SERVERS: [(&str, bool, &str); 4] = [
    ("legacy", false, "notifications/cancelled"),
    ("modern", false, "notifications/cancelled"),
    ("legacy", true, "notifications/cancelled"),
    ("modern", true, "closed "),
];

async fn server(era: &str, http: bool) -> (Option<Program>, Config) {
    let config = Config::new().section("sessionInit: {preset: passthrough}");
    if !http {
        return (None, config.server("fake", &fake_backend(["--era", era])));
    }
    let (server, url) = Program::start_server(fake_backend(["--era", era, "--http", "127.0.0.1:0"])).await;
    (Some(server), config.remote("fake", &url))
}

fn stall(mark: &str) -> HttpRequest {
    HttpRequest::modern("1", "tools/call", &message::call("stall", &format!(r#"{{"mark":"{mark}"}}"#)))
}

/// What the server saw, as soon as it saw this, without the questions about it.
async fn seen(client: &mut HttpClient, wanted: &str) -> String {
    let record = client.modern_call("seen", &format!(r#"{{"wait_for":"{wanted}"}}"#)).await.value();
    let record = &record["result"]["structuredContent"];
    let lines = ["messages", "http"].into_iter().flat_map(|kind| record[kind].as_array().into_iter().flatten());
    let lines = lines.filter_map(serde_json::Value::as_str).filter(|line| !line.contains("wait_for"));
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_call_once() {
    for (era, http, sign) in SERVERS {
        let (_server, config) = server(era, http).await;
        let proxy = Proxy::new(&config).http().await;
        let mut client = proxy.client();
        let connection = client.send_and_leave_open(&stall("before the first byte")).await;
        seen(&mut client, "before the first byte").await;
        drop(connection);
        let record = seen(&mut client, sign).await;
        assert_eq!(record.matches(sign).count(), 1, "{era}, HTTP {http}: {record}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_an_open_stream_cancels_its_call_once() {
    for (era, http, sign) in SERVERS {
        let (_server, config) = server(era, http).await;
        let proxy = Proxy::new(&config).http().await;
        let mut client = proxy.client();
        let reply = client.send(&stall("in the stream")).await;
        assert!(reply.is_event_stream());
        drop(reply);
        let record = seen(&mut client, sign).await;
        assert_eq!(record.matches(sign).count(), 1, "{era}, HTTP {http}: {record}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_with_its_answer_cancels_nothing() {
    for (era, http, sign) in SERVERS {
        let (_server, config) = server(era, http).await;
        let proxy = Proxy::new(&config).http().await;
        let mut client = proxy.client();
        for _ in 0..3 {
            client.modern_call("echo", "{}").await.result();
        }
        let record = seen(&mut client, "echo").await;
        assert!(!record.contains(sign), "{era}, HTTP {http}: {record}");
    }
}
