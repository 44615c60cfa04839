//! Long lists: clients get them in pages, and servers may give them in pages.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::in_process::{Proxy, StdioProxy};
use crate::support::programs::fake_backend;
use crate::support::proxy;
use crate::support::temp_dir::TempDir;

const PASSTHROUGH: &str = "sessionInit: {preset: passthrough}";

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("tool_{number:05}")).collect()
}

fn write_tools(directory: &TempDir, names: &[String]) -> PathBuf {
    let tools: Vec<Value> = names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
    directory.write("tools.json", &json!(tools).to_string())
}

/// A server with so many tools, and the built-in ones behind them.
fn config(tools: &std::path::Path) -> Config {
    let flags = ["--era", "legacy", "--prompts", "--builtin", "--only", "add_tool,crash", "--tools"];
    let backend = fake_backend(flags.into_iter().chain([tools.to_str().expect("a path is text")]));
    Config::new().server("fake", &backend).section(PASSTHROUGH)
}

async fn list(proxy: &mut StdioProxy, modern: bool, cursor: Option<&Value>) -> Value {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor })).to_string();
    match modern {
        true => proxy.client.modern("tools/list", &params).await.value(),
        false => proxy.client.request("tools/list", &params).await.value(),
    }
}

fn listed(page: &Value) -> Vec<String> {
    let tools = page["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tools in {page}"));
    tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
}

fn next(page: &Value) -> Option<&Value> {
    page["result"].get("nextCursor")
}

async fn start(directory: &TempDir, count: usize) -> StdioProxy {
    let mut proxy = Proxy::new(&config(&write_tools(directory, &names(count)))).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}

#[tokio::test]
async fn a_long_list_comes_in_pages_that_hold_everything_once_and_in_order() {
    let directory = TempDir::new();
    let mut proxy = start(&directory, 2400).await;
    let mut wanted = names(2400);
    wanted.extend(["add_tool".to_owned(), "crash".to_owned()]);
    for modern in [false, true] {
        let (mut all, mut sizes) = (Vec::new(), Vec::new());
        let mut page = list(&mut proxy, modern, None).await;
        loop {
            assert_eq!(page["result"].get("cacheScope").is_some(), modern, "every page says so, or none");
            let names = listed(&page);
            sizes.push(names.len());
            all.extend(names);
            match next(&page).cloned() {
                Some(cursor) => page = list(&mut proxy, modern, Some(&cursor)).await,
                None => break,
            }
        }
        assert_eq!(sizes, [1000, 1000, 402]);
        assert_eq!(all, wanted);
    }
}

#[tokio::test]
async fn a_list_that_fits_is_one_page() {
    let directory = TempDir::new();
    let mut proxy = start(&directory, 998).await;
    let page = list(&mut proxy, false, None).await;
    assert_eq!((listed(&page).len(), next(&page)), (1000, None));
    // Where a client has no cursor it may say so.
    assert_eq!(list(&mut proxy, false, Some(&Value::Null)).await["result"], page["result"]);
}

#[tokio::test]
async fn a_cursor_goes_on_behind_the_last_item_whatever_else_has_changed() {
    let directory = TempDir::new();
    let mut proxy = start(&directory, 1500).await;
    let first = list(&mut proxy, false, None).await;
    proxy.client.call("add_tool", r#"{"name":"late"}"#).await.result();
    proxy.client.expect_notification("notifications/tools/list_changed").await;
    let second = list(&mut proxy, false, next(&first)).await;
    let names = listed(&second);
    assert_eq!((names[0].as_str(), names.last().map(String::as_str)), ("tool_01000", Some("late")));
}

#[tokio::test]
async fn a_cursor_behind_an_item_that_is_gone_is_unknown() {
    let directory = TempDir::new();
    let mut proxy = start(&directory, 1500).await;
    let first = list(&mut proxy, false, None).await;
    // Another start of the server finds other tools.
    let rest: Vec<String> = names(1500).into_iter().filter(|name| name != "tool_00999").collect();
    write_tools(&directory, &rest);
    proxy.client.call("crash", "{}").await;
    proxy.client.expect_notification("notifications/tools/list_changed").await;
    let page = list(&mut proxy, false, next(&first)).await;
    assert_eq!(page["error"]["code"], -32602, "{page}");
    assert_eq!(page["error"]["message"], "invalid `cursor`: list again from the start");
}

#[tokio::test]
async fn a_cursor_that_the_proxy_did_not_make_for_this_list_is_refused() {
    let directory = TempDir::new();
    let mut proxy = start(&directory, 1500).await;
    let first = list(&mut proxy, false, None).await;
    let cursor = next(&first).and_then(Value::as_str).expect("there is more").to_owned();
    assert!(!cursor.contains("tool"), "what it holds is nobody's concern: {cursor}");
    let mut tampered = cursor.clone();
    tampered.replace_range(40..41, if &cursor[40..41] == "A" { "B" } else { "A" });
    for wrong in [json!(""), json!("page-2"), json!(tampered), json!(7), json!({"a": 1}), json!(true)] {
        for modern in [false, true] {
            let answer = list(&mut proxy, modern, Some(&wrong)).await;
            assert_eq!(answer["error"]["code"], -32602, "{wrong}: {answer}");
        }
    }
    let elsewhere = proxy.client.request("prompts/list", &json!({ "cursor": cursor }).to_string()).await;
    assert_eq!(elsewhere.error_code(), -32602);
    assert_eq!(listed(&list(&mut proxy, true, Some(&json!(cursor))).await).len(), 502);
}

#[tokio::test]
async fn a_cursor_is_of_no_use_to_somebody_else() {
    let directory = TempDir::new();
    let tokens = "auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}";
    let config = config(&write_tools(&directory, &names(1500))).section(tokens);
    let proxy = Proxy::new(&config).http().await;
    let as_user = |token: &str| proxy.client().with_header("Authorization", &format!("Bearer {token}"));
    let (mut ann, mut bob): (HttpClient, HttpClient) = (as_user("secret-token-of-a"), as_user("secret-token-of-b"));
    let first = ann.modern("tools/list", "{}").await.value();
    let params = json!({ "cursor": next(&first) }).to_string();
    assert_eq!(bob.modern("tools/list", &params).await.error_code(), -32602);
    assert_eq!(ann.modern("tools/list", &params).await.tool_names().len(), 502);
}

async fn tools_of(flags: &[&str]) -> (StdioProxy, Vec<String>) {
    let flags = ["--era", "legacy"].into_iter().chain(flags.iter().copied());
    // The program, which writes a log.
    let mut proxy = proxy::Proxy::new(&Config::new().server("fake", &fake_backend(flags)).section(PASSTHROUGH)).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let names = proxy.client.request("tools/list", "{}").await.tool_names();
    (proxy, names)
}

#[tokio::test]
async fn all_pages_of_a_server_are_read_also_behind_an_empty_cursor() {
    // The second page has the empty cursor.
    let (_proxy, names) = tools_of(&["--only", "a,b,c,d,e", "--pages", "3"]).await;
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
}

#[tokio::test]
async fn a_cursor_of_null_ends_a_server_s_list() {
    let (_proxy, names) = tools_of(&["--only", "a,b,c", "--pages", "3", "--null-cursor"]).await;
    assert_eq!(names, ["a", "b", "c"]);
}

#[tokio::test]
async fn a_server_that_repeats_a_cursor_has_a_list_that_ends_there() {
    let (proxy, names) = tools_of(&["--only", "a,b", "--pages", "2", "--repeat-cursor"]).await;
    assert_eq!(names, ["a", "b"]);
    proxy.client.stderr().line(r#"`tools/list` repeats the cursor "again": the list ends there"#).await;
}

#[tokio::test]
async fn a_server_whose_pages_never_end_is_stopped() {
    let (proxy, names) = tools_of(&["--only", "a,b", "--pages", "2", "--endless-pages"]).await;
    assert_eq!(names, ["a", "b"]);
    proxy.client.stderr().line("`tools/list` has too many pages or items: only the first 2 items are used").await;
}
