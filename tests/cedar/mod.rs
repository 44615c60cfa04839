//! Cedar policies decide who may use what. What somebody may not use does not exist for them, whatever way they ask.

mod arguments;
mod author;
mod commands;
mod reload;
mod unknown;
mod waiting;
mod ways;

use serde_json::Value;

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::message::Message;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy, StdioProxy};

const TOKENS: &str = "auth: {tokens: [
  {token: secret-token-of-a, sub: ann, groups: [ops], claims: {level: 3}}, {token: secret-token-of-b, sub: bob}]}";
const CEDAR: &str = "cedar: {policies: [policies/*.cedar]}";

/// Members of `ops` may use everything, all others everything but what is called `secret`.
const SECRETS: &str = r#"
permit(principal, action, resource);

@message("only for ops")
forbid(principal, action, resource)
when { resource.name like "*secret*" || resource.name == "farewell" || resource.name == "greet" }
unless { principal in THVGroup::"ops" };
"#;

/// A proxy with these policies before one server.
fn world(flags: &[&str], sections: &str, policies: &str) -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(flags.iter().copied()))
        .section(TOKENS)
        .section(CEDAR)
        .section(sections);
    Proxy::new(&config).file("policies/a.cedar", policies)
}

async fn started(proxy: Proxy) -> StdioProxy {
    let mut proxy = proxy.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}

fn holder(proxy: &HttpProxy, token: &str) -> HttpClient {
    proxy.client().with_header("Authorization", &format!("Bearer {token}"))
}

async fn ann(proxy: &HttpProxy) -> HttpClient {
    let mut client = holder(proxy, "secret-token-of-a");
    client.initialize("2025-11-25").await.result();
    client
}

async fn bob(proxy: &HttpProxy) -> HttpClient {
    let mut client = holder(proxy, "secret-token-of-b");
    client.initialize("2025-11-25").await.result();
    client
}

fn is_error(answer: &Message) -> bool {
    answer.value()["result"]["isError"] == true
}

/// The error of an answer, with a name or URI left out.
fn error_without(answer: &Message, name: &str) -> String {
    let value = answer.value();
    let error = value.get("error").map(Value::to_string).unwrap_or_else(|| panic!("no error: {}", answer.raw));
    error.replace(name, "NAME")
}
