//! Profiles: one proxy shows each group of clients a view of its own, at a path of its own.

mod access;
mod commands;
mod flow;
mod handles;
mod records;
mod reload;
mod status;
mod views;

use crate::support::config::Config;
use crate::support::http_client::{HttpClient, HttpReply};
use crate::support::http_request::HttpRequest;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};

/// Publishes the tools of the servers, and `where`, which says at the top level and in a call which profile it is.
const SCRIPT: &str = r#"
at_the_top = profile()
def where(args):
    return {"top": at_the_top, "call": profile(), "servers": sorted(backends().keys())}
publish(metadata("where", "", {"type": "object"}, {}), where)
for backend in backends().values():
    for meta, call in backend.tools():
        publish(meta.replace(name = backend.name + "_" + meta.name), call)
"#;

/// Two servers, and these profiles.
fn config(profiles: &str) -> Config {
    Config::new()
        .server("papers", &fake_backend(["--only", "echo"]))
        .server("crm", &fake_backend(["--only", "echo,add_tool"]))
        .section("sessionInit: { scriptFile: policy.star }")
        .section(&format!("profiles:\n{profiles}"))
}

fn world(config: &Config) -> Proxy {
    Proxy::new(config).file("policy.star", SCRIPT)
}

const RESEARCH: &str = "  research: { servers: [papers] }\n  sales: { servers: ['c*'] }";

/// A client of a profile; of the top level, if the name is empty.
fn client(proxy: &HttpProxy, profile: &str) -> HttpClient {
    let below = if profile.is_empty() { String::new() } else { format!("/{profile}") };
    HttpClient::new(&format!("{}{below}", proxy.url), proxy.program.stderr.clone())
}

/// A client of a profile with a session.
async fn session(proxy: &HttpProxy, profile: &str) -> HttpClient {
    let mut client = client(proxy, profile);
    client.initialize("2025-11-25").await.result();
    client
}

fn list() -> HttpRequest {
    HttpRequest::modern("1", "tools/list", "{}")
}

/// The status of a reply, and its message.
async fn refusal(reply: HttpReply) -> (u16, String) {
    let status = reply.status;
    let text = reply.text().await;
    let error: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    (status, error["error"]["message"].as_str().unwrap_or_default().to_owned())
}

async fn tools(client: &mut HttpClient) -> Vec<String> {
    client.request("tools/list", "{}").await.tool_names()
}

async fn modern_tools(client: &mut HttpClient) -> Vec<String> {
    client.modern("tools/list", "{}").await.tool_names()
}
