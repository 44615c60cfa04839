//! Clients that show tokens of an issuer: who is let in, what they are told, and what becomes of their sessions.

mod foreign_clients;
mod introspection;
mod keys;
mod metadata;
mod scopes;
mod secrets;
mod sessions;
mod tokens;

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::support::config::Config;
use crate::support::http_client::{HttpClient, HttpReply};
use crate::support::http_request::HttpRequest;
use crate::support::issuer::{AUDIENCE, Issuer};
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};

/// Publishes the tools of a server, `ops` only for a group of that name, and `whoami`.
const SCRIPT: &str = r#"
if "ops" in current_user().groups:
    publish(metadata("ops", "Only for a group", {"type": "object"}, {}), lambda args: "done")
def whoami(args):
    user = current_user()
    return {"sub": user.sub, "email": user.email, "name": user.name, "groups": user.groups, "claims": user.claims,
        "issuer": user.issuer, "scopes": user.scopes, "anonymous": user.anonymous}
publish(metadata("whoami", "Says who calls", {"type": "object"}, {}), whoami)
for backend in backends().values():
    for meta, call in backend.tools():
        publish(meta, call)
"#;

/// A config whose tokens are those of this issuer. `more` has keys of the issuer, `auth` more keys of the section.
fn config(issuer: &Issuer, more: &str, auth: &str) -> Config {
    Config::new()
        .server("fake", &fake_backend(["--era", "legacy", "--only", "echo,add_tool"]))
        .section("sessionInit: { scriptFile: policy.star }")
        .section(&format!("auth: {{issuers: [{{issuer: '{}', audiences: ['{AUDIENCE}'] {more}}}] {auth}}}", issuer.url))
}

async fn serving(config: &Config) -> HttpProxy {
    Proxy::new(config).file("policy.star", SCRIPT).http().await
}

/// A client with this token. Each has an address of its own: wrong tokens from one address are answered slowly.
fn client(proxy: &HttpProxy, token: &str) -> HttpClient {
    static NEXT: AtomicU16 = AtomicU16::new(1);
    let [high, low] = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let address = Ipv4Addr::new(127, 1, high, low.max(1));
    proxy.client().with_address(address).with_header("Authorization", &format!("Bearer {token}"))
}

fn list() -> HttpRequest {
    HttpRequest::modern("1", "tools/list", "{}")
}

/// The answer to a list request with this token.
async fn shown(proxy: &HttpProxy, token: &str) -> HttpReply {
    client(proxy, token).send(&list()).await
}

async fn status(proxy: &HttpProxy, token: &str) -> u16 {
    shown(proxy, token).await.status
}

/// Why a token is refused: the status, and the description in the challenge.
async fn refusal(proxy: &HttpProxy, token: &str) -> (u16, String) {
    let reply = shown(proxy, token).await;
    let challenge = reply.header("www-authenticate").unwrap_or_default();
    let description = challenge.split("error_description=\"").nth(1).and_then(|rest| rest.split('"').next());
    (reply.status, description.unwrap_or_default().to_owned())
}
