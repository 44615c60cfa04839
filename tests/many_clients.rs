//! Many at once: everybody gets their own answer, once, and a cancellation ends one call only.

use std::collections::HashMap;

use serde_json::Value;

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message::{self, Message};
use crate::support::modern::{meta_with_progress, modern_meta, with_meta};
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};

const CLIENTS: usize = 200;
const BURST: usize = 1000;

fn two_servers() -> Config {
    Config::new()
        .server("old", &fake_backend(["--era", "legacy", "--only", "echo"]))
        .server("new", &fake_backend(["--era", "modern", "--only", "echo"]))
}

async fn one_of_many(mut client: HttpClient, number: usize) {
    let modern = number.is_multiple_of(2);
    if !modern {
        client.initialize("2025-11-25").await.result();
    }
    for tool in ["echo", "new_echo"] {
        let arguments = format!(r#"{{"client":{number},"tool":"{tool}"}}"#);
        let answer =
            if modern { client.modern_call(tool, &arguments).await } else { client.call(tool, &arguments).await };
        assert_eq!(answer.structured(), arguments);
    }
    let listed =
        if modern { client.modern("tools/list", "{}").await } else { client.request("tools/list", "{}").await };
    assert_eq!(listed.tool_names(), ["echo", "new_echo"]);
}

#[tokio::test]
async fn two_hundred_clients_over_http_get_their_own_answers() {
    let proxy = Proxy::new(&two_servers()).http().await;
    let clients = (0..CLIENTS).map(|number| one_of_many(proxy.client(), number));
    futures::future::join_all(clients).await;
}

/// Numbers and the same numbers as texts are different ids; both eras share the pipe.
fn burst_request(number: usize) -> (String, String, String) {
    let id = if number.is_multiple_of(2) { (number / 2).to_string() } else { format!("\"{}\"", number / 2) };
    let tool = if number.is_multiple_of(3) { "echo" } else { "new_echo" };
    let arguments = format!(r#"{{"number":{number}}}"#);
    let params = message::call(tool, &arguments);
    let params = if number.is_multiple_of(5) { with_meta(&params, &modern_meta()) } else { params };
    (message::request(&id, "tools/call", &params), id, arguments)
}

#[tokio::test]
async fn a_thousand_calls_at_once_on_stdio_are_answered_once_each() {
    let mut proxy = Proxy::new(&two_servers()).stdio();
    let client = &mut proxy.client;
    client.initialize("2025-11-25").await.result();
    let mut expected = HashMap::new();
    let mut burst = String::new();
    for number in 0..BURST {
        let (request, id, arguments) = burst_request(number);
        burst += &format!("{request}\n");
        expected.insert(id, arguments);
    }
    client.send_bytes(burst.as_bytes()).await;
    while !expected.is_empty() {
        let answer = client.next().await;
        let id = answer.id().expect("an answer has an id");
        let arguments = expected.remove(&id).unwrap_or_else(|| panic!("nobody waits for {}", answer.raw));
        assert_eq!(answer.structured(), arguments);
    }
    client.send(&message::request(r#""last""#, "ping", "{}")).await;
    assert_eq!(client.next().await.id().as_deref(), Some(r#""last""#), "nothing was answered twice");
}

/// The ids under which calls reached the server, by their mark.
fn ids_by_mark(seen: &Message) -> HashMap<String, String> {
    let messages = seen.value()["result"]["structuredContent"]["messages"].clone();
    let texts = messages.as_array().into_iter().flatten().filter_map(Value::as_str);
    let calls = texts.filter_map(|text| serde_json::from_str::<Value>(text).ok());
    calls
        .filter_map(|call| Some((call["params"]["arguments"]["mark"].as_str()?.to_owned(), call["id"].to_string())))
        .collect()
}

/// What the server learned of cancelled calls: ids of notifications, and of reply streams that were closed.
fn cancelled_ids(seen: &Message) -> Vec<String> {
    let record = seen.value()["result"]["structuredContent"].clone();
    let texts = |part: &Value| -> Vec<String> {
        part.as_array().into_iter().flatten().filter_map(|text| Some(text.as_str()?.to_owned())).collect()
    };
    let mut ids: Vec<String> =
        texts(&record["http"]).iter().filter_map(|line| line.strip_prefix("closed ").map(str::to_owned)).collect();
    let notifications =
        texts(&record["messages"]).into_iter().filter_map(|text| serde_json::from_str::<Value>(&text).ok());
    ids.extend(
        notifications
            .filter(|message| message["method"] == "notifications/cancelled")
            .map(|message| message["params"]["requestId"].to_string()),
    );
    ids
}

/// A session-based server over HTTP hears of it in both ways.
fn newly_cancelled(before: &Message, after: &Message) -> Vec<String> {
    let known = cancelled_ids(before);
    let mut new: Vec<String> = cancelled_ids(after).into_iter().filter(|id| !known.contains(id)).collect();
    new.sort();
    new.dedup();
    new
}

fn waiting_for(text: &str) -> String {
    serde_json::json!({ "wait_for": text }).to_string()
}

const MARKS: [&str; 2] = [r#"{"mark":"goes"}"#, r#"{"mark":"stays"}"#];

/// A server alone behind a config, and how it learns that a call is cancelled.
struct Case {
    config: Config,
    _server: Option<Program>,
    told: fn(&str) -> String,
}

/// Both eras on both transports. Only the newer one over HTTP has no message for it: the stream of the call is closed.
async fn cases() -> Vec<Case> {
    let notified: fn(&str) -> String = |id| format!(r#""requestId":{id}}}"#);
    let mut cases = Vec::new();
    for era in ["legacy", "modern"] {
        let config = Config::new().server("fake", &fake_backend(["--era", era]));
        cases.push(Case { config, _server: None, told: notified });
        let (server, url) = Program::start_server(fake_backend(["--era", era, "--http", "127.0.0.1:0"])).await;
        let told = if era == "modern" { |id: &str| format!("closed {id}") } else { notified };
        cases.push(Case { config: Config::new().remote("fake", &url), _server: Some(server), told });
    }
    cases
}

#[tokio::test]
async fn a_call_cancelled_on_stdio_is_cancelled_at_the_server_and_no_other() {
    for modern in [false, true] {
        // New servers each time: what they remember is told apart by ids that begin anew.
        for case in cases().await {
            cancel_on_stdio(&case, modern).await;
        }
    }
}

async fn cancel_on_stdio(case: &Case, modern: bool) {
    let mut proxy = Proxy::new(&case.config).stdio();
    let client = &mut proxy.client;
    client.initialize("2025-11-25").await.result();
    let params = |tool: &str, arguments: &str| {
        let params = message::call(tool, arguments);
        if modern { with_meta(&params, &modern_meta()) } else { params }
    };
    let mut ids = Vec::new();
    for arguments in MARKS {
        ids.push(client.begin("tools/call", &params("stall", arguments)).await);
        client.request("tools/call", &params("seen", &waiting_for(arguments))).await.result();
    }
    let before = client.request("tools/call", &params("seen", "{}")).await;
    let id = &ids_by_mark(&before)["goes"];
    client.notify("notifications/cancelled", &format!(r#"{{"requestId":{}}}"#, ids[0])).await;
    let seen = client.request("tools/call", &params("seen", &waiting_for(&(case.told)(id)))).await;
    assert_eq!(&newly_cancelled(&before, &seen), std::slice::from_ref(id));
    assert_eq!(client.unclaimed().count(), 0, "a cancelled call is not answered");
}

#[tokio::test]
async fn a_call_cancelled_over_http_is_cancelled_at_the_server_and_no_other() {
    for case in cases().await {
        let proxy = Proxy::new(&case.config).http().await;
        cancel_in_a_session(&proxy, &case).await;
        cancel_by_leaving(&proxy, &case).await;
    }
}

async fn cancel_in_a_session(proxy: &HttpProxy, case: &Case) {
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
    let mut streams = Vec::new();
    for (id, arguments) in ["501", "502"].into_iter().zip(MARKS) {
        let call = message::request(id, "tools/call", &message::call("stall", arguments));
        streams.push(client.send(&client.legacy(&call)).await);
        client.call("seen", &waiting_for(arguments)).await.result();
    }
    let before = client.call("seen", "{}").await;
    let id = &ids_by_mark(&before)["goes"];
    let cancel = message::notification("notifications/cancelled", r#"{"requestId":501}"#);
    assert_eq!(client.send(&client.legacy(&cancel)).await.status, 202);
    let seen = client.call("seen", &waiting_for(&(case.told)(id))).await;
    assert_eq!(newly_cancelled(&before, &seen), std::slice::from_ref(id));
    assert_eq!(streams[0].next_message().await, None, "the stream of a cancelled call ends without an answer");
    client.delete().await;
}

/// Each with other arguments than in the session before, whose calls the server still remembers.
async fn cancel_by_leaving(proxy: &HttpProxy, case: &Case) {
    let mut client = proxy.client();
    let mut connections = Vec::new();
    for mark in ["leaves", "remains"] {
        let arguments = format!(r#"{{"mark":"{mark}"}}"#);
        let call = HttpRequest::modern("1", "tools/call", &message::call("stall", &arguments));
        connections.push(client.send_and_leave_open(&call).await);
        client.modern_call("seen", &waiting_for(&arguments)).await.result();
    }
    let before = client.modern_call("seen", "{}").await;
    let id = &ids_by_mark(&before)["leaves"];
    drop(connections.remove(0));
    let seen = client.modern_call("seen", &waiting_for(&(case.told)(id))).await;
    let cancelled = newly_cancelled(&before, &seen);
    assert!(cancelled.contains(id), "{cancelled:?}");
    assert!(!cancelled.contains(&ids_by_mark(&before)["remains"]), "{cancelled:?}");
}

/// Checks that progress comes in order, under the token of the client, and all of it before the answer.
fn check_progress(messages: &[Message], token: &str) {
    let (answer, progress) = messages.split_last().expect("at least the answer");
    assert_eq!(answer.structured(), r#"{"n":50}"#);
    let steps: Vec<Value> = progress.iter().map(|message| message.value()["params"]["progress"].clone()).collect();
    assert_eq!(steps, (1..=50).map(Value::from).collect::<Vec<_>>());
    assert!(progress.iter().all(|message| message.params().contains(&format!(r#""progressToken":{token}"#))));
}

#[tokio::test]
async fn progress_comes_in_order_and_before_the_answer() {
    for case in cases().await {
        let call = message::call("progress", r#"{"n":50}"#);
        let mut proxy = Proxy::new(&case.config).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        for meta in [r#"{"progressToken":"t"}"#.to_owned(), meta_with_progress(r#""t""#)] {
            let id = proxy.client.begin("tools/call", &with_meta(&call, &meta)).await;
            let mut messages = Vec::new();
            while messages.last().is_none_or(|last: &Message| last.id().as_ref() != Some(&id)) {
                messages.push(proxy.client.next().await);
            }
            check_progress(&messages, r#""t""#);
        }
        let proxy = Proxy::new(&case.config).http().await;
        let mut client = proxy.client();
        client.initialize("2025-11-25").await.result();
        let asked = message::request("77", "tools/call", &with_meta(&call, r#"{"progressToken":0}"#));
        check_progress(&client.send(&client.legacy(&asked)).await.messages().await, "0");
        let asked = HttpRequest::modern_with_meta("78", "tools/call", &call, &meta_with_progress("0"));
        check_progress(&client.send(&asked).await.messages().await, "0");
    }
}
