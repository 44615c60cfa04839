//! The keys of an issuer: rotated, unusable, and not to be had.

use std::time::Instant;

use serde_json::{Value, json};

use super::{client, config, list, refusal, serving, shown, status};
use crate::support::issuer::{Issuer, IssuerFault, SigningKey};
use crate::support::proxy::{HttpProxy, Proxy};

async fn reported(proxy: &HttpProxy) -> Value {
    let shown = proxy.world.run(["status", "--json"]).await.expect(0);
    let status: Value = serde_json::from_str(&shown.stdout).expect("it is JSON");
    status["issuers"][0].clone()
}

#[tokio::test]
async fn a_new_key_is_fetched_once_and_random_ones_are_not() {
    let issuer = Issuer::start().await;
    // What cannot check a token is no reason to refuse the rest.
    for odd in [
        json!({"kty": "oct", "kid": "o", "k": "c2VjcmV0"}),
        json!({"kty": "EC", "crv": "P-521", "kid": "p", "x": "AA", "y": "AA"}),
        json!({"kty": "RSA", "use": "enc", "kid": "e", "n": "AA", "e": "AQAB"}),
        json!({"kty": "RSA", "kid": "m"}),
        json!("no key"),
    ] {
        issuer.publish(odd);
    }
    let proxy = serving(&config(&issuer, "", "")).await;
    let old = issuer.token("ann");
    assert_eq!(status(&proxy, &old).await, 200);
    assert_eq!((reported(&proxy).await["keys"].clone(), issuer.key_fetches()), (json!(1), 1));
    // A new key is found at once, and the old one is still good.
    issuer.rotate(SigningKey::new("EdDSA"));
    assert_eq!(status(&proxy, &issuer.token("ann")).await, 200);
    assert_eq!((reported(&proxy).await["keys"].clone(), issuer.key_fetches()), (json!(2), 2));
    assert_eq!(status(&proxy, &old).await, 200);
    // However many keys are made up, the issuer is left alone for a while.
    let (key, began) = (issuer.key(), Instant::now());
    let made_up = |number: usize| {
        let header = json!({"alg": "EdDSA", "kid": format!("made-up-{number}")});
        key.sign(&header, &issuer.claims("ann"))
    };
    let attempts = (0..20).map(|number| {
        let token = made_up(number);
        let proxy = &proxy;
        async move { refusal(proxy, &token).await }
    });
    for outcome in futures::future::join_all(attempts).await {
        assert_eq!(outcome, (401, "the key of the token is unknown".to_owned()));
    }
    let (fetches, intervals) = (issuer.key_fetches() - 2, began.elapsed().as_secs() / 30);
    assert!(fetches as u64 <= 1 + intervals, "{fetches} fetches for 20 tokens");
}

#[tokio::test]
async fn without_keys_nobody_is_sent_to_log_in_and_static_tokens_work() {
    let issuer = Issuer::start().await;
    issuer.set_fault(Some(IssuerFault::Down));
    let tokens = ", tokens: [{token: secret-token-of-a, sub: ann}]";
    let proxy = serving(&config(&issuer, ", prefix: 'corp:'", tokens)).await;
    let reply = shown(&proxy, &issuer.token("ann")).await;
    assert_eq!(reply.status, 503);
    assert!(reply.header("retry-after").is_some() && reply.header("www-authenticate").is_none());
    assert_eq!(client(&proxy, "secret-token-of-a").send(&list()).await.status, 200);
    let state = reported(&proxy).await;
    assert_eq!((&state["ready"], &state["error"]), (&json!(false), &json!("cannot fetch its metadata: HTTP 503")));
    let text = proxy.world.run(["status"]).await.expect(0).stdout;
    assert!(text.contains(&issuer.url) && text.contains("HTTP 503"), "{text}");
    proxy.program.stderr.line("requests with its tokens get 503 until it answers").await;

    // It comes back, and nobody has to restart anything.
    issuer.set_fault(None);
    while status(&proxy, &issuer.token("ann")).await != 200 {}
    assert_eq!(reported(&proxy).await["ready"], json!(true));
    // And when it is down again, the keys that are known serve on.
    issuer.set_fault(Some(IssuerFault::Down));
    assert_eq!(status(&proxy, &issuer.token("bob")).await, 200);
}

#[tokio::test]
async fn keys_from_elsewhere_or_without_end_are_not_taken() {
    for (fault, reason) in [
        (IssuerFault::TooLarge, "sends more than"),
        (IssuerFault::RedirectTo("http://169.254.169.254/latest/meta-data"), "is not a public address"),
        (IssuerFault::Silent, "no complete response within 5 s"),
    ] {
        let issuer = Issuer::start().await;
        issuer.set_fault(Some(fault.clone()));
        let proxy = Proxy::new(&config(&issuer, "", "")).file("policy.star", super::SCRIPT).http().await;
        let line = proxy.program.stderr.line(reason).await;
        assert!(line.contains(&issuer.url), "{fault:?}: {line}");
        assert_eq!(status(&proxy, &issuer.token("ann")).await, 503, "{fault:?}");
    }
}

#[tokio::test]
async fn two_issuers_with_one_key_id_are_told_apart() {
    let (one, other) = (Issuer::start().await, Issuer::start().await);
    let more = format!(", prefix: 'a:'}}, {{issuer: '{}', audiences: ['{}'], prefix: 'b:'", other.url, super::AUDIENCE);
    let proxy = serving(&config(&one, &more, "")).await;
    assert_eq!(status(&proxy, &one.token("ann")).await, 200);
    assert_eq!(status(&proxy, &other.token("ann")).await, 200);
    // The same ID for another key.
    let mut key = SigningKey::new("ES256");
    key.id.clone_from(&one.key().id);
    let forged = key.sign(&key.header(), &one.claims("ann"));
    assert_eq!(refusal(&proxy, &forged).await.1, "the signature of the token is wrong");
    // A session belongs to one of them, though both call their user `ann`.
    let mut client = client(&proxy, &one.token("ann"));
    client.initialize("2025-11-25").await.result();
    let ping = client.legacy(&crate::support::message::request("1", "ping", "{}"));
    assert_eq!(client.send(&ping).await.status, 200);
    let by_other = super::client(&proxy, &other.token("ann"));
    assert_eq!(by_other.send(&ping).await.status, 404);
}
