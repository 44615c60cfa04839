//! Results that are too large for a client: it gets the first page, and reads the others as long as they are kept.

mod bad_input;
mod listing;
mod owners;
mod pages;
mod reading;
mod reload;
mod replicas;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::message::{self, Message};
use crate::support::modern::modern_meta;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy, StdioProxy};

/// Every client has this limit.
const LIMIT: &str = "results: {maxTokens: 2000}";
const CODEX: &str = "codex-mcp-client";
const TOKENS: &str = "auth: {tokens: [{token: secret-token-of-a, sub: ann}, {token: secret-token-of-b, sub: bob}]}";

/// The results of the server's tools, by name, as JSON.
fn results(items: usize) -> String {
    let log: String = (0..2000).map(|line| format!("{line}: the quick brown fox jumps over the lazy dog\n")).collect();
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let mut images = vec![image; 200];
    images.insert(100, json!({"type": "text", "text": log}));
    let failed = json!({"content": [{"type": "text", "text": log}], "isError": true});
    let small = text("small");
    let export = structured(&export(items));
    format!(
        "{{\"export\":{export},\"log\":{},\"report\":{},\"images\":{},\"failed\":{failed},\"small\":{small}}}",
        text(&log),
        text(&self::export(1000)),
        json!({"content": images}),
    )
}

/// A result with structured content, and the same as text.
fn structured(value: &str) -> String {
    format!("{{\"content\":[{{\"type\":\"text\",\"text\":{}}}],\"structuredContent\":{value}}}", json!(value))
}

/// Data with numbers that parsers change.
fn export(items: usize) -> String {
    let item = |id: usize| format!(r#"{{"id":{id},"price":1.10,"big":9223372036854775808,"name":"item {id} ü"}}"#);
    let items: Vec<String> = (0..items).map(item).collect();
    format!(r#"{{"total":1.10,"items":[{}],"more":[true,false]}}"#, items.join(","))
}

fn tools() -> String {
    let names = ["export", "log", "report", "images", "failed", "small"];
    let tool = |name: &str| {
        let mut tool = json!({"name": name, "inputSchema": {"type": "object", "properties": {}}});
        if name == "export" {
            tool["outputSchema"] = json!({"type": "object", "required": ["items"]});
        }
        tool
    };
    Value::from(names.map(tool).to_vec()).to_string()
}

/// A proxy before a server with large results.
fn world(sections: &str) -> Proxy {
    world_with(&[], sections)
}

fn world_with(flags: &[&str], sections: &str) -> Proxy {
    let files = ["--era", "legacy", "--tools", "tools.json", "--results", "results.json"];
    let server = fake_backend(files.into_iter().chain(flags.iter().copied()));
    let config = Config::new().server("fake", &server).section(sections);
    Proxy::new(&config).file("tools.json", &tools()).file("results.json", &results(1000))
}

async fn stdio(proxy: Proxy) -> StdioProxy {
    let mut proxy = proxy.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}

/// A session over HTTP.
async fn session(proxy: &HttpProxy) -> HttpClient {
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
    client
}

async fn session_of(proxy: &HttpProxy, token: &str) -> HttpClient {
    let mut client = holder(proxy, token);
    client.initialize("2025-11-25").await.result();
    client
}

fn holder(proxy: &HttpProxy, token: &str) -> HttpClient {
    proxy.client().with_header("Authorization", &format!("Bearer {token}"))
}

/// A modern request of a client with this name.
async fn as_client(client: &HttpClient, name: &str, method: &str, params: &str) -> Message {
    let meta = modern_meta().replace("test-client", name);
    client.send(&HttpRequest::modern_with_meta("1", method, params, &meta)).await.response().await
}

/// The arguments of `read_result`.
fn page_of(id: &str, page: u64) -> String {
    json!({"result": id, "page": page}).to_string()
}

fn part_of(id: &str, path: &str) -> String {
    json!({"result": id, "path": path}).to_string()
}

/// The id of a paged result, and the number of its pages.
fn paged(answer: &Message) -> (String, u64) {
    let value = answer.value();
    let meta = &value["result"]["_meta"]["proxy/result"];
    let id = meta["id"].as_str().unwrap_or_else(|| panic!("no page: {}", answer.raw));
    (id.to_owned(), meta["pages"].as_u64().expect("the number of pages"))
}

/// The note behind a page.
fn note(answer: &Message) -> String {
    let value = answer.value();
    value["result"]["content"][1]["text"].as_str().unwrap_or_else(|| panic!("no note: {}", answer.raw)).to_owned()
}

fn is_error(answer: &Message) -> bool {
    answer.value()["result"]["isError"] == true
}

/// The array in the pages, as it was: the first page is an object with it, the others have the next elements.
fn joined(pages: &[String]) -> String {
    let items = message::member(&pages[0], "items").expect("the first page is the whole object");
    let inside = |array: &str| array[1..array.len() - 1].to_owned();
    let others = pages[1..].iter().map(|page| inside(page));
    let all: Vec<String> = std::iter::once(inside(&items)).chain(others).collect();
    pages[0].replacen(&items, &format!("[{}]", all.join(",")), 1)
}
