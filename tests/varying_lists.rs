//! Servers that list more for clients that can be asked. What a client sees depends on what it can do, and not on who
//! came first.

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};

const FORM: &str = r#"{"elicitation":{"form":{}}}"#;

async fn http_server(flags: &[&str]) -> (Program, String) {
    Program::start_server(fake_backend(["--http", "127.0.0.1:0"].into_iter().chain(flags.iter().copied()))).await
}

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
    let (_server, url) = http_server(&["--form-tool"]).await;
    let config = Config::new().remote("fake", &url).section("sessionInit: {preset: passthrough@1}");
    let proxy = Proxy::new(&config).http().await;
    let (mut plain, mut asked) = (session(&proxy, "{}").await, session(&proxy, FORM).await);
    assert!(!has_form_tool(&mut plain).await);
    // Its first call opens the connection on which the server lists more.
    asked.call("echo", "{}").await.result();
    while !has_form_tool(&mut asked).await {
        tokio::task::yield_now().await;
    }
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
    let (_server, url) = http_server(&["--era", "legacy"]).await;
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
    let seen = clients[2].call("seen", "{}").await.structured();
    let opened = seen.matches(r#"\"method\":\"initialize\""#).count();
    assert_eq!(opened, 3, "the main connection and two more: {seen}");
}
