//! Tokens that only their issuer can read.

use serde_json::json;

use super::{client, config, refusal, serving, shown, status};
use crate::support::issuer::{AUDIENCE, Issuer, IssuerFault, now};

fn introspection(issuer: &Issuer, secret: &str) -> String {
    format!(
        ", introspection: {{url: '{}/introspect', clientId: door, clientSecret: '{secret}', cache: 60s}}",
        issuer.url
    )
}

#[tokio::test]
async fn the_issuer_is_asked_once_about_a_token_that_only_it_can_read() {
    let issuer = Issuer::start().await;
    let proxy = serving(&config(&issuer, &introspection(&issuer, "secret-of-the-door"), "")).await;
    let active = json!({"active": true, "sub": "ann", "aud": AUDIENCE, "groups": ["ops"]});
    issuer.add_opaque("good", active.clone());
    let mut ann = client(&proxy, "good");
    assert_eq!(ann.modern("tools/list", "{}").await.tool_names()[0], "ops");
    ann.modern("tools/list", "{}").await.result();
    assert_eq!(issuer.questions(), 1, "the answer counts for a while");
    let with = |name: &str, value: serde_json::Value| {
        let mut answer = active.clone();
        answer[name] = value;
        answer
    };
    issuer.add_opaque("elsewhere", with("aud", json!("x")));
    issuer.add_opaque("expired", with("exp", json!(now() - 100)));
    issuer.add_opaque("other", with("iss", json!("https://other.example")));
    issuer.add_opaque("no-audience", json!({"active": true, "sub": "ann"}));
    for (token, reason) in [
        ("inactive", "the token is not active"),
        ("elsewhere", "the token is not for this server (aud)"),
        ("no-audience", "the token is not for this server (aud)"),
        ("expired", "the token has expired"),
        ("other", "the issuer of the token is not accepted"),
    ] {
        assert_eq!(refusal(&proxy, token).await, (401, reason.to_owned()), "{token}");
    }
    // A token that can be read is not shown to anybody.
    let asked = issuer.questions();
    assert_eq!(status(&proxy, &issuer.token("ann")).await, 200);
    assert_eq!(issuer.questions(), asked);
    issuer.set_fault(Some(IssuerFault::Down));
    let reply = shown(&proxy, "unknown").await;
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("5")));
}

#[tokio::test]
async fn an_issuer_that_does_not_know_the_proxy_is_not_the_fault_of_clients() {
    let issuer = Issuer::start().await;
    let proxy = serving(&config(&issuer, &introspection(&issuer, "another-secret"), "")).await;
    assert_eq!(status(&proxy, "opaque").await, 503);
    let line = proxy.program.stderr.line("it does not accept `clientId` and `clientSecret`").await;
    assert!(!line.contains("another-secret"), "{line}");
}
