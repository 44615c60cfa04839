//! Tokens that only their issuer can read.

use serde_json::json;

use super::{client, config, list, refusal, serving, shown, status};
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
    let line = proxy.program.stderr.line("the issuer does not accept `clientId` and `clientSecret`").await;
    assert!(!line.contains("another-secret"), "{line}");
}

#[tokio::test]
async fn a_refused_token_is_remembered_for_some_seconds() {
    let issuer = Issuer::start().await;
    let proxy = serving(&config(&issuer, &introspection(&issuer, "secret-of-the-door"), "")).await;
    for _ in 0..3 {
        assert_eq!(refusal(&proxy, "made-up").await, (401, "the token is not active".to_owned()));
    }
    assert_eq!(issuer.questions(), 1);
}

#[tokio::test]
async fn a_flood_of_made_up_tokens_does_not_keep_others_out() {
    let issuer = Issuer::start().await;
    issuer.hesitate();
    let introspection = introspection(&issuer, "secret-of-the-door").replace("60s", "0s");
    let proxy = serving(&config(&issuer, &introspection, "")).await;
    let active = json!({"active": true, "sub": "ann", "aud": AUDIENCE});
    issuer.add_opaque("good", active.clone());
    issuer.add_opaque("new", active);
    let at_the_address_of_the_flood = || proxy.client().with_header("Authorization", "Bearer good");
    assert_eq!(at_the_address_of_the_flood().send(&list()).await.status, 200);
    let mut flood = tokio::task::JoinSet::new();
    for number in 0..400 {
        let client = proxy.client().with_header("Authorization", &format!("Bearer made-up-{number}"));
        flood.spawn(async move { client.send(&list()).await.status });
    }
    // When 16 questions are open, the others wait.
    while issuer.questions() < 17 {
        tokio::task::yield_now().await;
    }
    // Whoever comes last would wait for ten seconds, and five are too many.
    assert_eq!(status(&proxy, "new").await, 200, "another address");
    assert_eq!(at_the_address_of_the_flood().send(&list()).await.status, 200, "a token that was good before");
    flood.abort_all();
}

#[tokio::test]
async fn made_up_opaque_tokens_are_answered_slowly_and_expired_jwts_at_once() {
    let issuer = Issuer::start().await;
    let proxy = serving(&config(&issuer, &introspection(&issuer, "secret-of-the-door"), "")).await;
    let send = async |token: &str| {
        let client = proxy.client().with_header("Authorization", &format!("Bearer {token}"));
        client.send(&list()).await.status
    };
    let mut statuses = tokio::task::JoinSet::new();
    for number in 0..30 {
        let client = proxy.client().with_header("Authorization", &format!("Bearer made-up-{number}"));
        statuses.spawn(async move { client.send(&list()).await.status });
    }
    while let Some(status) = statuses.join_next().await {
        if status.unwrap() == 429 {
            let expired = issuer.token_with("ann", json!({"exp": now() - 1000}));
            assert_eq!(send(&expired).await, 401);
            assert_eq!(send(&issuer.token("ann")).await, 200);
            return;
        }
    }
    panic!("nothing was answered slowly");
}

#[tokio::test]
async fn several_issuers_are_asked_in_turn_or_by_prefix() {
    let (first, second) = (Issuer::start().await, Issuer::start().await);
    let third = Issuer::start().await;
    let known = |sub: &str| json!({"active": true, "sub": sub, "aud": AUDIENCE});
    first.add_opaque("ann", known("ann"));
    second.add_opaque("bob", known("bob"));
    third.add_opaque("gho_eve", known("eve"));
    let more = |issuer: &Issuer, name: &str, key: &str| {
        let introspection = introspection(issuer, "secret-of-the-door").replace("cache", &format!("{key} cache"));
        format!("prefix: '{name}:' {introspection}")
    };
    let entry = |issuer: &Issuer, name: &str, key: &str| {
        format!("{{issuer: '{}', audiences: ['{AUDIENCE}'], {}}}", issuer.url, more(issuer, name, key))
    };
    let issuers =
        [entry(&first, "first", ""), entry(&second, "second", ""), entry(&third, "third", "prefix: gho_,")].join(", ");
    let config = crate::support::config::Config::new()
        .server("fake", &crate::support::programs::fake_backend(["--era", "legacy", "--only", "echo"]))
        .section("sessionInit: { scriptFile: policy.star }")
        .section(&format!("auth: {{issuers: [{issuers}]}}"));
    let proxy = serving(&config).await;
    let asked = || (first.questions(), second.questions(), third.questions());
    assert_eq!(status(&proxy, "ann").await, 200);
    assert_eq!(asked(), (1, 0, 0));
    assert_eq!(status(&proxy, "bob").await, 200);
    assert_eq!(asked(), (2, 1, 0));
    assert_eq!(status(&proxy, "gho_eve").await, 200);
    assert_eq!(asked(), (2, 1, 1), "no other issuer sees a token with this prefix");
    assert_eq!(status(&proxy, "nobody").await, 401);
    assert_eq!(asked(), (3, 2, 1));
    // Who does not answer may be the one who knows the token.
    first.set_fault(Some(IssuerFault::Down));
    assert_eq!(status(&proxy, "unknown").await, 503);
}
