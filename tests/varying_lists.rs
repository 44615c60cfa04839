//! Servers that list more for clients that can be asked. What a client sees depends on what it can do, and not on who
//! came first.

use std::process::Command;

use serde_json::json;

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message;
use crate::support::modern::{VERSION, meta_members, with_meta};
use crate::support::patience::within;
use crate::support::programs::{fake_backend, fake_http_backend};
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::temp_dir::TempDir;

const FORM: &str = r#"{"elicitation":{"form":{}}}"#;

async fn session(proxy: &HttpProxy, capabilities: &str) -> HttpClient {
    let mut client = proxy.client();
    client.initialize_with("2025-11-25", capabilities).await.result();
    client
}

async fn has_form_tool(client: &mut HttpClient) -> bool {
    client.request("tools/list", "{}").await.tool_names().contains(&"with_form".to_owned())
}

#[tokio::test]
async fn a_client_that_can_be_asked_sees_what_is_listed_for_it_alone() {
    let (_server, url) = fake_http_backend(&["--form-tool"]).await;
    let config = Config::new().remote("fake", &url).section("sessionInit: {preset: passthrough@1}");
    let proxy = Proxy::new(&config).http().await;
    let (mut plain, mut asked) = (session(&proxy, "{}").await, session(&proxy, FORM).await);
    assert!(!has_form_tool(&mut plain).await);
    // It need not call anything: the proxy compares when the first such client comes.
    let listed = async {
        while !has_form_tool(&mut asked).await {
            tokio::task::yield_now().await;
        }
    };
    within("the tool for those who can be asked", &proxy.program.stderr, listed).await;
    assert!(!asked.call("with_form", "{}").await.raw.contains("error"));
    assert!(!has_form_tool(&mut plain).await, "others do not see it");
    let world = proxy.world;
    drop(proxy.program);

    // The next proxy knows, and it does not matter who comes first.
    let proxy = world.http().await;
    let mut asked = session(&proxy, FORM).await;
    assert!(has_form_tool(&mut asked).await);
    let mut plain = session(&proxy, "{}").await;
    assert!(!has_form_tool(&mut plain).await);
}

/// A command inside of a shell script.
fn recording(script: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(command.get_program()).args(command.get_args());
    shell
}

#[tokio::test]
async fn a_client_whose_lists_turn_out_to_be_others_is_told_and_not_of_what_it_has_listed() {
    // given: the process that finds out what clients see that can be asked waits
    let directory = TempDir::new();
    let first = directory.path().join("first");
    let go = directory.path().join("go");
    let wait = format!(
        r#"if [ -e {0} ]; then while [ ! -e {1} ]; do sleep 0.05; done; fi; touch {0}; exec "$@""#,
        first.display(),
        go.display()
    );
    let config = Config::new()
        .server("fake", &recording(&wait, &fake_backend(["--era", "legacy", "--form-tool"])))
        .section("sessionInit: {preset: passthrough@1}");
    let proxy = Proxy::new(&config).http().await;
    let mut asked = session(&proxy, FORM).await;
    assert!(!has_form_tool(&mut asked).await);
    let mut news = asked.get_stream().await;
    // when
    std::fs::write(&go, "").expect("a temporary folder can be written");
    // then: what it was told is a list that it has not seen
    let told = news.next_message().await.and_then(|message| message.method());
    assert_eq!(told.as_deref(), Some("notifications/tools/list_changed"));
    assert!(has_form_tool(&mut asked).await);
}

/// The number of connections that the server has seen, once so many have been closed in an orderly way.
async fn opened(client: &mut HttpClient, closed: usize) -> usize {
    loop {
        let seen = client.call("seen", r#"{"wait_for":"DELETE"}"#).await.structured();
        if seen.matches("DELETE").count() >= closed {
            return seen.matches(r#"\"method\":\"initialize\""#).count();
        }
    }
}

#[tokio::test]
async fn a_server_is_compared_once_for_all_sets_of_abilities() {
    let (_server, url) = fake_http_backend(&["--era", "legacy"]).await;
    let config = Config::new().remote("fake", &url).section("sessionInit: {preset: passthrough@1}");
    let proxy = Proxy::new(&config).http().await;
    let (mut plain, _asked) = (session(&proxy, "{}").await, session(&proxy, FORM).await);
    assert_eq!(opened(&mut plain, 1).await, 2, "the main connection, and one to compare");
    let world = proxy.world;
    drop(proxy.program);

    let proxy = world.http().await;
    let (mut plain, _asked) = (session(&proxy, "{}").await, session(&proxy, FORM).await);
    let mut other = session(&proxy, r#"{"sampling":{}}"#).await;
    other.request("tools/list", "{}").await.result();
    assert_eq!(opened(&mut plain, 1).await, 3, "the main connection of the next proxy");
}

#[tokio::test]
async fn a_process_that_was_started_to_compare_ends_when_it_has_listed() {
    let directory = TempDir::new();
    let record = directory.path().join("starts");
    let script = format!(r#"echo started >> {0}; "$@"; echo ended >> {0}"#, record.display());
    let config = Config::new()
        .server("fake", &recording(&script, &fake_backend(["--era", "legacy"])))
        .section("sessionInit: {preset: passthrough@1}");
    let proxy = Proxy::new(&config).http().await;
    let (mut plain, mut asked) = (session(&proxy, "{}").await, session(&proxy, FORM).await);
    let lines = || std::fs::read_to_string(&record).unwrap_or_default();
    while lines() != "started\nstarted\nended\n" {
        plain.request("ping", "{}").await.result();
    }
    asked.call("echo", "{}").await.result();
    assert_eq!(lines(), "started\nstarted\nended\nstarted\n", "the first call starts its own");
}

#[tokio::test]
async fn with_a_connection_for_each_client_the_list_is_by_abilities_too() {
    let config = Config::new()
        .server_with("fake", &fake_backend(["--era", "legacy", "--form-tool"]), json!({"scope": "session"}))
        .section("sessionInit: {preset: passthrough@1}");
    let proxy = Proxy::new(&config).http().await;
    let (mut plain, mut asked) = (session(&proxy, "{}").await, session(&proxy, FORM).await);
    while !has_form_tool(&mut asked).await {
        tokio::task::yield_now().await;
    }
    assert!(!asked.call("with_form", "{}").await.raw.contains("error"));
    assert!(!has_form_tool(&mut plain).await, "others do not see it");
    let mut second = session(&proxy, FORM).await;
    assert!(has_form_tool(&mut second).await, "the next one sees it at once");
}

async fn stateless_has_form_tool(client: &mut HttpClient, capabilities: &str) -> bool {
    client.modern_with("tools/list", "{}", capabilities).await.tool_names().contains(&"with_form".to_owned())
}

#[tokio::test]
async fn a_stateless_client_sees_what_is_listed_for_its_abilities() {
    for flags in [&["--era", "modern", "--form-tool"][..], &["--form-tool"]] {
        let (_server, url) = fake_http_backend(flags).await;
        let config = Config::new().remote("fake", &url).section("sessionInit: {preset: passthrough@1}");
        let mut world = Proxy::new(&config);
        // The second proxy knows it from the cache.
        for _ in 0..2 {
            let proxy = world.http().await;
            let mut client = proxy.client();
            assert!(stateless_has_form_tool(&mut client, FORM).await, "{flags:?}");
            assert!(!stateless_has_form_tool(&mut client, "{}").await, "{flags:?}");
            assert!(stateless_has_form_tool(&mut client, r#"{"elicitation":{},"sampling":{}}"#).await, "{flags:?}");
            let call = message::call("with_form", "{}");
            assert!(!client.modern_with("tools/call", &call, FORM).await.raw.contains("error"), "{flags:?}");
            world = proxy.world;
        }
    }
}

#[tokio::test]
async fn in_front_of_a_server_of_one_era_clients_of_the_other_see_what_is_listed_for_them() {
    let config = |url: &str| Config::new().remote("fake", url).section("sessionInit: {preset: passthrough@1}");
    let (_server, url) = fake_http_backend(&["--era", "legacy", "--form-tool"]).await;
    let proxy = Proxy::new(&config(&url)).http().await;
    let mut client = proxy.client();
    while !stateless_has_form_tool(&mut client, FORM).await {
        tokio::task::yield_now().await;
    }
    assert!(!stateless_has_form_tool(&mut client, "{}").await);

    let (_server, url) = fake_http_backend(&["--era", "modern", "--form-tool"]).await;
    let proxy = Proxy::new(&config(&url)).http().await;
    let mut asked = session(&proxy, FORM).await;
    while !has_form_tool(&mut asked).await {
        tokio::task::yield_now().await;
    }
    assert!(!has_form_tool(&mut session(&proxy, "{}").await).await);
}

#[tokio::test]
async fn on_a_pipe_a_stateless_client_sees_what_is_listed_for_its_abilities() {
    let config = Config::new().server("fake", &fake_backend(["--era", "modern", "--form-tool"]));
    let mut proxy = Proxy::new(&config).stdio();
    let meta = format!("{{{}}}", meta_members(VERSION, FORM));
    let listed = proxy.client.request("tools/list", &with_meta("{}", &meta)).await;
    assert!(listed.tool_names().contains(&"with_form".to_owned()), "{}", listed.raw);
}

#[tokio::test]
async fn what_is_listed_for_some_abilities_follows_changes() {
    let (_server, url) = fake_http_backend(&["--era", "modern", "--form-tool"]).await;
    let config = Config::new().remote("fake", &url).section("sessionInit: {preset: passthrough@1}");
    let proxy = Proxy::new(&config).http().await;
    let mut client = proxy.client();
    assert!(stateless_has_form_tool(&mut client, FORM).await);
    client.modern_call("add_tool", r#"{"name":"later"}"#).await.result();
    let listed = async |client: &mut HttpClient| client.modern_with("tools/list", "{}", FORM).await.tool_names();
    while !listed(&mut client).await.contains(&"later".to_owned()) {
        tokio::task::yield_now().await;
    }
    assert!(stateless_has_form_tool(&mut client, FORM).await);
}

#[tokio::test]
async fn on_a_pipe_the_list_is_the_one_for_the_only_client() {
    let config = Config::new().server("fake", &fake_backend(["--era", "legacy", "--form-tool"]));
    let mut world = Proxy::new(&config);
    for (capabilities, expected) in [("{}", false), (FORM, true), ("{}", false)] {
        let mut proxy = world.stdio();
        proxy.client.initialize_with("2025-11-25", capabilities).await.result();
        // What another client saw last may come first, from the cache.
        let has_form = |names: &[String]| names.iter().any(|name| name == "with_form");
        proxy.client.tools_until(|names| names.len() > 1 && has_form(names) == expected).await;
        assert_eq!(proxy.client.call("pid", "{}").await.value()["result"].get("isError"), None);
        assert_eq!(has_form(&proxy.tools().await), expected, "{capabilities}");
        proxy.client.finish().await;
        world = proxy.world;
    }
}

#[tokio::test]
async fn the_command_line_lists_what_a_terminal_can_use() {
    let config = Config::new().server("fake", &fake_backend(["--form-tool"]));
    let output = Proxy::new(&config).command(["list-tools"]).output().expect("the proxy runs");
    assert!(String::from_utf8_lossy(&output.stdout).contains("with_form"), "{output:?}");
}

#[tokio::test]
async fn one_person_has_two_shared_connections_and_then_uses_the_next_best() {
    let (_server, url) = fake_http_backend(&["--era", "legacy"]).await;
    let tokens = "auth: {tokens: [{token: s3cret-of-the-visitor, sub: ann}]}";
    let proxy = Proxy::new(&Config::new().remote("fake", &url).section(tokens)).http().await;
    let sets = [FORM, r#"{"sampling":{}}"#, r#"{"elicitation":{"form":{}},"sampling":{}}"#];
    let mut clients = Vec::new();
    for capabilities in sets {
        let mut client = proxy.client().with_header("Authorization", "Bearer s3cret-of-the-visitor");
        client.initialize_with("2025-11-25", capabilities).await.result();
        clients.push(client);
    }
    // Connections in use are not closed for the third set.
    let mut held = Vec::new();
    for (index, mark) in ["mark-one", "mark-two"].into_iter().enumerate() {
        let call = message::call("stall", &format!(r#"{{"mark":"{mark}"}}"#));
        let request = clients[index].legacy(&message::request("9", "tools/call", &call));
        held.push(clients[index].send_and_leave_open(&request).await);
        clients[index].call("seen", &format!(r#"{{"wait_for":"{mark}"}}"#)).await.result();
    }
    clients[2].call("echo", "{}").await.result();
    let opened = opened(&mut clients[2], 1).await - 1;
    assert_eq!(opened, 3, "the main connection and two more, beside the one to compare");
}
