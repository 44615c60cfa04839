//! Who may use a profile: tokens for one path alone, scopes and groups, and what clients are told about them.

use serde_json::{Value, json};

use super::{RESEARCH, client, list, refusal, world};
use crate::support::config::Config;
use crate::support::http_client::{HttpClient, HttpReply};
use crate::support::http_request::HttpRequest;
use crate::support::issuer::{AUDIENCE, Issuer};
use crate::support::proxy::HttpProxy;

fn config(issuer: &Issuer, profiles: &str) -> Config {
    super::config(profiles).section(&format!(
        "auth: {{ requiredScopes: [mcp], issuers: [{{ issuer: '{}', audiences: ['{AUDIENCE}'] }}] }}",
        issuer.url
    ))
}

async fn shown(proxy: &HttpProxy, path: &str, token: &str) -> HttpReply {
    client(proxy, path).with_header("Authorization", &format!("Bearer {token}")).send(&list()).await
}

async fn status(proxy: &HttpProxy, path: &str, token: &str) -> u16 {
    shown(proxy, path, token).await.status
}

#[tokio::test]
async fn a_token_for_one_path_opens_nothing_else_the_first_time_and_later() {
    let issuer = Issuer::start().await;
    let proxy = world(&config(&issuer, RESEARCH)).http().await;
    let token = |audience: Value| issuer.token_with("ann", json!({"aud": audience, "scope": "mcp"}));
    let narrow = token(json!(format!("{}/research", proxy.url)));
    // First elsewhere, then where it is good, and again: what is known of a token makes no difference.
    for _ in 0..2 {
        assert_eq!(status(&proxy, "", &narrow).await, 401);
        assert_eq!(status(&proxy, "sales", &narrow).await, 401);
        assert_eq!(status(&proxy, "research", &narrow).await, 200);
        assert_eq!(status(&proxy, "research/", &narrow).await, 200);
    }
    let two = token(json!([format!("{}/research/", proxy.url), format!("{}/sales", proxy.url)]));
    for (path, expected) in [("research", 200), ("sales", 200), ("", 401)] {
        assert_eq!(status(&proxy, path, &two).await, expected, "{path}");
    }
    for wide in
        [token(json!(proxy.url)), token(json!(AUDIENCE)), token(json!([AUDIENCE, format!("{}/sales", proxy.url)]))]
    {
        for path in ["", "research", "sales"] {
            assert_eq!(status(&proxy, path, &wide).await, 200, "{path}");
        }
    }
    for other in
        [format!("{}/nobody", proxy.url), format!("{}/connect", proxy.url), "https://elsewhere/research".to_owned()]
    {
        for path in ["", "research"] {
            assert_eq!(status(&proxy, path, &token(json!(other))).await, 401, "{other} at `{path}`");
        }
    }
}

#[tokio::test]
async fn a_narrow_token_carries_a_session_nowhere_else() {
    let issuer = Issuer::start().await;
    let proxy = world(&config(&issuer, RESEARCH)).http().await;
    let narrow = issuer.token_with("ann", json!({"aud": format!("{}/research", proxy.url), "scope": "mcp"}));
    let bearer = format!("Bearer {narrow}");
    let mut ann = client(&proxy, "research").with_header("Authorization", &bearer);
    ann.initialize("2025-11-25").await.result();
    assert_eq!(super::tools(&mut ann).await, ["where", "papers_echo"]);
    let ping = ann.legacy(&crate::support::message::request("7", "ping", "{}"));
    for path in ["", "sales"] {
        let elsewhere = client(&proxy, path).with_header("Authorization", &bearer);
        assert_eq!(elsewhere.send(&ping).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn each_path_says_what_its_tokens_are_for() {
    let issuer = Issuer::start().await;
    let profiles =
        "  research: { servers: [papers], auth: { requiredScopes: [papers, mcp] } }\n  sales: { servers: [crm] }";
    let proxy = world(&config(&issuer, profiles)).http().await;
    for (path, scopes) in [("", vec!["mcp"]), ("/research", vec!["mcp", "papers"]), ("/sales", vec!["mcp"])] {
        let url = format!("{}/.well-known/oauth-protected-resource/mcp{path}", proxy.url.trim_end_matches("/mcp"));
        let asked = client(&proxy, path.trim_start_matches('/')).send(&list()).await;
        let challenge = asked.header("www-authenticate").expect("a challenge").to_owned();
        assert!(challenge.contains(&format!("resource_metadata=\"{url}\"")), "{challenge}");
        assert!(challenge.contains(&format!("scope=\"{}\"", scopes.join(" "))), "{challenge}");
        let at = HttpClient::new(&url, proxy.program.stderr.clone());
        let reply = at.send(&HttpRequest::bare("GET")).await;
        assert_eq!((reply.status, reply.header("access-control-allow-origin")), (200, Some("*")));
        let document: Value = serde_json::from_str(&reply.text().await).expect("JSON");
        assert_eq!(document["resource"], format!("{}{path}", proxy.url));
        assert_eq!(document["scopes_supported"], json!(scopes));
    }
    let other = format!("{}/.well-known/oauth-protected-resource/mcp/nobody", proxy.url.trim_end_matches("/mcp"));
    let reply = HttpClient::new(&other, proxy.program.stderr.clone()).send(&HttpRequest::bare("GET")).await;
    assert_eq!(reply.status, 404);
    // A token that is good at the top level lacks a scope here.
    let token = issuer.token_with("ann", json!({"scope": "mcp"}));
    assert_eq!(status(&proxy, "", &token).await, 200);
    let lacking = shown(&proxy, "research", &token).await;
    let challenge = lacking.header("www-authenticate").unwrap_or_default();
    assert!(lacking.status == 403 && challenge.contains("scope=\"mcp papers\""), "{challenge}");
    assert_eq!(status(&proxy, "research", &issuer.token_with("ann", json!({"scope": "papers mcp"}))).await, 200);
}

#[tokio::test]
async fn who_is_in_none_of_the_groups_finds_no_profile() {
    let issuer = Issuer::start().await;
    let profiles = "  research: { servers: [papers], auth: { groups: [lab, staff], requiredScopes: [papers] } }";
    let config = super::config(profiles).section(&format!(
        "auth: {{ allowAnonymous: true, tokens: [{{ token: s3cret-token-of-lab, sub: lab, groups: [lab] }}], \
         issuers: [{{ issuer: '{}', audiences: ['{AUDIENCE}'], prefix: 'corp:' }}] }}",
        issuer.url
    ));
    let proxy = world(&config).http().await;
    let ann = |groups: Value, scope: &str| issuer.token_with("ann", json!({"groups": groups, "scope": scope}));
    assert_eq!(status(&proxy, "research", &ann(json!(["staff", "x"]), "papers")).await, 200);
    assert_eq!(status(&proxy, "research", "s3cret-token-of-lab").await, 200, "static tokens need no scope");
    assert_eq!(status(&proxy, "research", &ann(json!(["lab"]), "")).await, 403);
    // The same answer as for a profile that does not exist, whatever else the token lacks.
    for token in [ann(json!(["sales"]), "papers"), ann(json!([]), "")] {
        let (status, message) = refusal(shown(&proxy, "research", &token).await).await;
        assert_eq!((status, message.as_str()), (404, "no profile `research`"));
    }
    let (status, message) = refusal(client(&proxy, "research").send(&list()).await).await;
    assert_eq!((status, message.as_str()), (404, "no profile `research`"), "anonymous callers have no groups");
    assert_eq!(client(&proxy, "").send(&list()).await.status, 200);
}
