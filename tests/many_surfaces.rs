//! Clients choose their names. A script that reads them has a surface for each; the proxy keeps some of them in memory and
//! builds the others again.
#![cfg(target_os = "linux")]

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::measure::kilobytes;
use crate::support::message;
use crate::support::patience::{LONG_PATIENCE, within};
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};

/// A surface of two megabytes, with a tool that is named like the client.
const LARGE: &str = "\
piece = ''.join(['x' * 100] * 100)
padding = ''.join([piece] * 200)

def whoami(args):
    return client().name + padding[:0]

publish(metadata('tool_' + client().name, '', {}, {}), whoami)
";
const SESSIONS: usize = 600;
const PERSONS: usize = 30;

/// A session of a client with this name.
async fn session(proxy: &HttpProxy, name: &str, token: Option<&str>) -> HttpClient {
    let mut client = proxy.client();
    if let Some(token) = token {
        client = client.with_header("Authorization", &format!("Bearer {token}"));
    }
    client.initialize_as("2025-11-25", name).await.result();
    client
}

async fn start(script: &str, more: &str) -> HttpProxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "legacy", "--only", "echo,add_tool"]))
        .section("sessionInit: { scriptFile: policy.star }")
        .section(more);
    let mut proxy = Proxy::new(&config).file("policy.star", script).http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    proxy
}

async fn tools(client: &mut HttpClient) -> Vec<String> {
    client.request("tools/list", "{}").await.tool_names()
}

fn megabytes(proxy: &HttpProxy) -> usize {
    kilobytes(proxy.program.id(), "VmRSS") >> 10
}

/// A session that has seen its own tool.
async fn one_of_many(proxy: &HttpProxy, number: usize, token: String) -> HttpClient {
    let mut client = session(proxy, &format!("client-{number}"), Some(&token)).await;
    assert_eq!(tools(&mut client).await, [format!("tool_client-{number}")]);
    client
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn hundreds_of_surfaces_take_bounded_memory_and_every_client_has_its_own() {
    let tokens = (0..PERSONS).map(|number| format!("{{token: person-{number}-long-t0ken, sub: person-{number}}}"));
    let tokens = format!("auth: {{tokens: [{}]}}", tokens.collect::<Vec<_>>().join(", "));
    let proxy = start(LARGE, &tokens).await;
    let mut sessions = Vec::new();
    for first in (0..SESSIONS).step_by(PERSONS) {
        let clients =
            (0..PERSONS).map(|person| one_of_many(&proxy, first + person, format!("person-{person}-long-t0ken")));
        sessions.extend(futures::future::join_all(clients).await);
    }
    let resident = megabytes(&proxy);
    assert!(resident < 480, "{resident} MiB");
    // The first ones were dropped meanwhile.
    for (number, client) in sessions.iter_mut().enumerate().step_by(97) {
        assert_eq!(tools(client).await, [format!("tool_client-{number}")]);
        let answer = client.call(&format!("tool_client-{number}"), "{}").await;
        assert_eq!(answer.text(), format!("client-{number}"));
    }
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn anonymous_clients_together_have_the_memory_of_one_person() {
    let proxy = start(LARGE, "").await;
    let before = megabytes(&proxy);
    let mut sessions = Vec::new();
    for number in 0..150 {
        let mut client = session(&proxy, &format!("client-{number}"), None).await;
        assert_eq!(tools(&mut client).await, [format!("tool_client-{number}")]);
        sessions.push(client);
    }
    let grown = megabytes(&proxy) - before;
    assert!(grown < 180, "{grown} MiB for 32 surfaces of two megabytes");
    assert_eq!(tools(&mut sessions[0]).await, ["tool_client-0"]);
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn a_client_whose_surface_was_dropped_is_told_that_its_lists_have_changed() {
    let script = "client()\nfor meta, call in backends()['fake'].tools():\n    publish(meta, call)\n";
    let proxy = start(script, "").await;
    let mut first = session(&proxy, "first", None).await;
    assert_eq!(tools(&mut first).await, ["echo", "add_tool"]);
    let mut stream = first.get_stream().await;
    let mut others = Vec::new();
    for number in 0..40 {
        let mut client = session(&proxy, &format!("client-{number}"), None).await;
        tools(&mut client).await;
        others.push(client);
    }
    others[0].call("add_tool", r#"{"name":"added"}"#).await.result();
    let told = async {
        loop {
            let message = stream.next_message().await.expect("the stream goes on");
            if message.method().as_deref() == Some("notifications/tools/list_changed") {
                return;
            }
        }
    };
    within("a notification", &proxy.program.stderr, told).await;
    assert_eq!(tools(&mut first).await, ["echo", "add_tool", "added"]);
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn a_call_in_progress_keeps_the_surface_that_it_began_with() {
    let script = "\
for meta, call in backends()['fake'].tools():
    publish(meta, call)
publish(metadata('whoami', client().name, {}, {}), lambda args: client().name)
";
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "legacy", "--only", "stall"]))
        .section("sessionInit: { scriptFile: policy.star }");
    let mut proxy = Proxy::new(&config).file("policy.star", script).http().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    let mut first = session(&proxy, "first", None).await;
    let call = message::request("9", "tools/call", &message::call("stall", "{}"));
    let _held = first.send_and_leave_open(&first.legacy(&call)).await;
    for number in 0..40 {
        let mut client = session(&proxy, &format!("client-{number}"), None).await;
        assert_eq!(client.call("whoami", "{}").await.text(), format!("client-{number}"));
    }
    assert_eq!(first.call("whoami", "{}").await.text(), "first");
    // A stateless client has a surface by its name as well.
    let request = HttpRequest::modern("1", "tools/call", &message::call("whoami", "{}"));
    assert_eq!(proxy.client().send(&request).await.status, 200);
}
