//! Which tokens are accepted.

use serde_json::{Value, json};

use super::{client, config, list, refusal, serving, status};
use crate::support::http_request::HttpRequest;
use crate::support::issuer::{Issuer, SigningKey, changed, now, unsigned};
use crate::support::message;

#[tokio::test]
async fn a_good_token_says_who_calls_whatever_its_algorithm() {
    let issuer = Issuer::start().await;
    let keys: Vec<SigningKey> =
        ["RS256", "PS256", "ES256", "ES384", "EdDSA"].into_iter().map(SigningKey::new).collect();
    keys.iter().for_each(|key| issuer.publish(key.jwk()));
    let proxy = serving(&config(&issuer, ", prefix: 'corp:', claims: [team]", "")).await;
    let claims = changed(
        issuer.claims("ann"),
        json!({"email": "ann@a.example", "name": "Ann", "groups": ["ops"], "team": "red", "scope": "read write", "jti": "1"}),
    );
    for key in &keys {
        let mut caller = client(&proxy, &key.sign(&key.header(), &claims));
        let who: Value = serde_json::from_str(&caller.modern_call("whoami", "{}").await.structured()).expect("JSON");
        assert_eq!(
            who,
            json!({"sub": "corp:ann", "email": "ann@a.example", "name": "Ann", "groups": ["ops"],
                "claims": {"team": "red"}, "issuer": issuer.url, "scopes": ["read", "write"], "anonymous": false}),
            "{}",
            key.algorithm
        );
    }
}

#[tokio::test]
async fn every_token_that_is_not_good_is_refused_with_the_reason() {
    let issuer = Issuer::start().await;
    let other = Issuer::start().await;
    let rsa = SigningKey::new("RS256");
    issuer.publish(rsa.jwk());
    let proxy = serving(&config(&issuer, ", clients: [cli]", "")).await;
    let key = issuer.key();
    let claims = |changes: Value| {
        let with_client = json!({"azp": "cli"});
        changed(changed(issuer.claims("ann"), with_client), changes)
    };
    let with_claims = |changes: Value| key.sign(&key.header(), &claims(changes));
    let with_header = |changes: Value| key.sign(&changed(key.header(), changes), &claims(json!({})));
    for good in [
        with_claims(json!({})),
        // A clock may be late by a minute.
        with_claims(json!({"exp": now() - 5})),
        with_claims(json!({"nbf": now() + 20, "iat": now() + 20})),
        with_claims(json!({"aud": ["other", proxy.url]})),
        with_claims(json!({"aud": format!("{}/", proxy.url)})),
        with_header(json!({"typ": "JWT"})),
        with_header(json!({"typ": null, "kid": null})),
        // Keys in a token say nothing.
        with_header(json!({"jwk": other.key().jwk(), "jku": "https://evil.example/keys"})),
    ] {
        assert_eq!(status(&proxy, &good).await, 200, "{good}");
    }
    let forged = {
        // Signed with the public key of the issuer as if it were a secret.
        let header = json!({"alg": "HS256", "kid": rsa.id});
        format!("{}.c2lnbmF0dXJl", unsigned(&header, &claims(json!({}))))
    };
    let foreign = {
        let key = other.key();
        key.sign(&json!({"alg": "ES256", "kid": issuer.key().id}), &claims(json!({})))
    };
    let (good, tampered) = (with_claims(json!({})), with_claims(json!({"sub": "eve"})));
    let mixed = format!("{}.{}", tampered.rsplit_once('.').expect("a JWT").0, good.rsplit_once('.').expect("a JWT").1);
    let cases = [
        (
            format!("{}.", unsigned(&json!({"alg": "none"}), &claims(json!({})))),
            "the algorithm of the token is not accepted",
        ),
        (forged, "the algorithm of the token is not accepted"),
        (with_header(json!({"alg": "RS256", "kid": rsa.id})), "the signature of the token is wrong"),
        (with_header(json!({"alg": "RS256"})), "the key of the token is unknown"),
        (foreign, "the signature of the token is wrong"),
        (mixed, "the signature of the token is wrong"),
        (with_claims(json!({"exp": now() - 61})), "the token has expired"),
        (with_claims(json!({"exp": null})), "the token has no expiry time (exp)"),
        (with_claims(json!({"nbf": now() + 3600})), "the token is not valid yet"),
        (with_claims(json!({"iat": now() + 3600})), "the token is not valid yet"),
        (with_claims(json!({"aud": null})), "the token is not for this server (aud)"),
        (with_claims(json!({"aud": "https://other.example"})), "the token is not for this server (aud)"),
        (with_claims(json!({"iss": other.url})), "the issuer of the token is not accepted"),
        (with_claims(json!({"iss": format!("{}/", issuer.url)})), "the issuer of the token is not accepted"),
        (with_claims(json!({"sub": null})), "the token does not name a user (sub)"),
        (with_claims(json!({"cnf": {"jkt": "x"}})), "the token is bound to a key and cannot be used as a bearer token"),
        (with_claims(json!({"azp": "other"})), "the client of the token is not accepted"),
        (with_header(json!({"crit": ["exp"]})), "the token has critical extensions"),
        (with_header(json!({"typ": "dpop+jwt"})), "the token is not an access token (typ)"),
        ("not-a-jwt".to_owned(), "the token is not a JWT"),
    ];
    for (token, reason) in cases {
        assert_eq!(refusal(&proxy, &token).await, (401, reason.to_owned()), "{token}");
    }
}

#[tokio::test]
async fn a_request_without_a_token_is_told_where_to_get_one() {
    let issuer = Issuer::start().await;
    let proxy = serving(&config(&issuer, "", ", requiredScopes: [mcp, tools]")).await;
    let metadata = proxy.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
    let expected = format!(r#"Bearer scope="mcp tools", resource_metadata="{metadata}""#);
    let nobody = proxy.client();
    let initialize = message::request("1", "initialize", &message::initialize_params("2025-11-25", "{}"));
    let listen = HttpRequest::modern("1", "subscriptions/listen", "{}");
    // More than an address may fail: a client without a token has not failed.
    for request in [
        list(),
        HttpRequest::get(),
        HttpRequest::delete(),
        HttpRequest::post(initialize.clone()),
        HttpRequest::post(format!("[{initialize}]")),
        HttpRequest::modern("1", "server/discover", "{}"),
        listen,
        list().header("Authorization", "Basic YTpi"),
        list(),
        list(),
        list(),
        list(),
        list(),
        list(),
        list(),
        list(),
    ] {
        let reply = nobody.send(&request).await;
        assert_eq!((reply.status, reply.header("www-authenticate")), (401, Some(expected.as_str())));
    }
    let good = issuer.token_with("ann", json!({"scope": "mcp tools"}));
    let in_query = HttpRequest { method: "POST".to_owned(), ..list() };
    let other = crate::support::http_client::HttpClient::new(
        &format!("{}?access_token={good}", proxy.url),
        proxy.program.stderr.clone(),
    );
    assert_eq!(other.send(&in_query).await.status, 401, "a token in the URL does not count");
    for value in [format!("bEARER   {good}"), format!("Bearer {good}")] {
        assert_eq!(nobody.send(&list().header("Authorization", &value)).await.status, 200);
    }
    let twice = list().header("Authorization", &format!("Bearer {good}")).header("Authorization", "Bearer x");
    for malformed in
        [twice, list().header("Authorization", "Bearer"), list().header("Authorization", &format!("Bearer {good} x"))]
    {
        let reply = nobody.send(&malformed).await;
        let challenge = reply.header("www-authenticate").unwrap_or_default();
        assert!(reply.status == 400 && challenge.contains("error=\"invalid_request\""), "{} {challenge}", reply.status);
    }
    let lacking = client(&proxy, &issuer.token_with("ann", json!({"scope": "mcp"}))).send(&list()).await;
    let challenge = lacking.header("www-authenticate").unwrap_or_default();
    assert_eq!(lacking.status, 403);
    assert!(
        challenge.contains(r#"error="insufficient_scope""#) && challenge.contains(r#"scope="mcp tools""#),
        "{challenge}"
    );
}

#[tokio::test]
async fn who_shows_nothing_may_be_anonymous_if_the_config_says_so() {
    let issuer = Issuer::start().await;
    let proxy = serving(&config(&issuer, "", ", allowAnonymous: true, scopes: [{tools: echo, scopes: [e]}]")).await;
    let mut nobody = proxy.client();
    let who: Value = serde_json::from_str(&nobody.modern_call("whoami", "{}").await.structured()).expect("JSON");
    assert_eq!((&who["sub"], &who["anonymous"]), (&json!("anonymous"), &json!(true)));
    assert_eq!(status(&proxy, &issuer.token("ann")).await, 200);
    assert_eq!(status(&proxy, &issuer.token_with("ann", json!({"aud": "x"}))).await, 401, "a wrong one is none");
    // What needs a scope needs a token.
    let call = HttpRequest::modern("1", "tools/call", &message::call("echo", "{}"));
    let reply = nobody.send(&call).await;
    let challenge = reply.header("www-authenticate").unwrap_or_default();
    assert!(reply.status == 401 && challenge.starts_with(r#"Bearer scope="e", resource_metadata="#), "{challenge}");
}
