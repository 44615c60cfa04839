//! Unit tests of `auth.issuers`, `auth.scopes` and what goes with them.

use std::time::Duration;

use super::*;
use crate::testing::{errors, loaded};
use proxy_model::ItemKind;

/// The problems of an issuer, without their place.
fn problems(issuer: &str) -> Vec<String> {
    let found = errors(&format!("auth: {{issuers: [{issuer}]}}"));
    found.iter().map(|text| text.split_once(' ').unwrap().1.to_owned()).collect()
}

#[test]
fn an_issuer_needs_nothing_but_its_url() {
    let config = loaded("auth: {issuers: ['https://login.example.com/tenant']}");
    assert_eq!(config.auth.issuers, [IssuerConfig::new("https://login.example.com/tenant")]);
    let config = loaded(
        "serve: {publicUrl: 'https://mcp.example.com/mcp', http: '0.0.0.0:80'}\n\
         auth:\n  issuers:\n  - issuer: https://a\n    audiences: [api]\n    jwksUrl: https://a/keys?p=1\n    \
         algorithms: [ES256, EdDSA]\n    prefix: 'corp:'\n    groupsClaim: realm_access.roles\n    nameClaim: n\n    \
         emailClaim: e\n    claims: [team]\n    clients: [cli]\n    clockSkew: 5s\n    \
         introspection: {url: 'https://a/ask', clientId: me, clientSecret: s}\n  requiredScopes: [mcp]\n  \
         scopes:\n  - {tools: 'delete_*', scopes: [write]}\n  - {resources: 'file:///*', scopes: [files]}\n",
    );
    let auth = config.auth;
    let issuer = &auth.issuers[0];
    assert_eq!((issuer.algorithms.len(), issuer.clock_skew), (2, Duration::from_secs(5)));
    let introspection = issuer.introspection.as_ref().unwrap();
    assert_eq!((introspection.cache, introspection.require_audience), (Duration::from_secs(30), true));
    assert_eq!(auth.scopes.needed(ItemKind::Tool, "delete_all"), ["write"]);
    assert_eq!(auth.required_scopes, ["mcp"]);
}

#[test]
fn tokens_are_checked_against_a_url_that_somebody_has_named() {
    let found = errors("serve: {http: '0.0.0.0:80'}\nauth:\n  issuers:\n  - https://a\n");
    assert!(found[0].starts_with("4:5 `auth.issuers` needs `serve.publicUrl`: tokens are checked against it"));
    for http in ["127.0.0.1:1", "localhost:1", "'[::1]:1'"] {
        loaded(&format!("serve: {{http: {http}}}\nauth: {{issuers: [https://a]}}"));
    }
    for url in ["http://mcp.example.com/mcp", "https://h/mcp?x=1", "https://h/#a", "here"] {
        assert!(errors(&format!("serve: {{publicUrl: '{url}'}}"))[0].contains("`serve.publicUrl`"), "{url}");
    }
}

#[test]
fn whoever_could_read_or_change_the_way_to_the_keys_could_make_tokens() {
    assert!(problems("http://login.example.com")[0].contains("must begin with `https://`"));
    assert!(problems("'https://a/?x=1'")[0].contains("must not contain `?` or `#`"));
    assert!(problems("{issuer: 'https://a', jwksUrl: 'http://a/keys'}")[0].contains("must begin with `https://`"));
    assert!(problems("{issuer: 'https://a', jwksUrl: 'https://a/k#1'}")[0].contains("must not contain `#`"));
    assert!(problems("{audiences: [a]}")[0].contains("missing key `issuer`"));
    loaded("auth: {issuers: ['http://127.0.0.1:8080']}");
    for name in ["HS256", "none", "HS512"] {
        let found = problems(&format!("{{issuer: 'https://a', algorithms: [{name}]}}"));
        let expected = format!("`{name}` is not allowed: anyone who can verify such a token can also forge one");
        assert!(found[0].contains(&expected), "{found:?}");
    }
    assert!(problems("{issuer: 'https://a', algorithms: [ES512]}")[0].contains("one of `RS256`"));
    assert!(problems("{issuer: 'https://a', algorithms: []}")[0].contains("at least one algorithm"));
}

#[test]
fn values_that_make_no_sense_are_said_with_the_reason() {
    assert!(problems("{issuer: 'https://a', clockSkew: 6m}")[0].contains("at most `5m`"));
    assert!(problems("{issuer: 'https://a', claims: [jti]}")[0].contains("differs from token to token"));
    assert!(problems("{issuer: 'https://a', prefix: 'a b'}")[0].contains("must not contain spaces"));
    let introspection = |text: &str| problems(&format!("{{issuer: 'https://a', introspection: {text}}}"));
    assert!(introspection("{url: 'https://a/i'}")[0].contains("missing key `clientId` or `clientSecret`"));
    assert!(introspection("{clientId: a, clientSecret: b}")[0].contains("missing key `url`"));
    let empty = introspection("{url: 'https://a/i', clientId: a, clientSecret: ''}");
    assert!(empty[0].contains("clientSecret`: must not be empty"), "{empty:?}");
    assert!(introspection("{url: 'https://a/i', clientId: a, clientSecret: b, cache: 2m}")[0].contains("60s"));
}

#[test]
fn no_user_of_one_realm_can_have_the_name_of_a_user_of_another() {
    let token = "{token: 0123456789abcdef, sub: ann}";
    let found = errors(&format!("auth:\n  tokens:\n  - {token}\n  issuers:\n  - https://a\n"));
    assert!(found[0].contains("a user of `https://a` could have the same name as a user of `auth.tokens` (line 3)"));
    loaded(&format!("auth: {{tokens: [{token}], issuers: [{{issuer: 'https://a', prefix: 'a:'}}]}}"));
    let found = errors(
        "auth: {tokens: [{token: 0123456789abcdef, sub: 'a:x'}], issuers: [{issuer: 'https://a', prefix: 'a:'}]}",
    );
    assert!(found[0].contains("the token's `sub: a:x` begins with the prefix of `https://a`"), "{found:?}");
    let two = |one: &str, other: &str| {
        format!(
            "auth:\n  issuers:\n  - {{issuer: 'https://a', prefix: '{one}'}}\n  - {{issuer: 'https://b', prefix: '{other}'}}\n"
        )
    };
    for (one, other) in [("", ""), ("a:", ""), ("a", "ab"), ("ab", "a")] {
        let found = errors(&two(one, other));
        assert!(found[0].starts_with("4:") && found[0].contains("`https://a` (line 3)"), "{found:?}");
    }
    loaded(&two("a:", "b:"));
    let found = errors("auth:\n  issuers:\n  - https://a\n  - https://a\n");
    assert!(found[0].contains("duplicate issuer `https://a`, also at line 3"), "{found:?}");
}

#[test]
fn settings_without_effect_are_refused() {
    let first = |text: &str| errors(text)[0].split_once(' ').unwrap().1.to_owned();
    assert!(first("auth: {requiredScopes: [a]}").contains("has no effect without `auth.issuers`"));
    assert!(first("auth: {allowAnonymous: true}").contains("has no effect without `tokens` or `issuers`"));
    let both = first("auth: {issuers: ['https://a'], requiredScopes: [a], allowAnonymous: true}");
    assert!(both.contains("conflicts with `allowAnonymous`"), "{both}");
    assert!(first("auth: {scopes: [{scopes: [a]}]}").contains("missing key `tools`, `prompts` or `resources`"));
    assert!(first("auth: {scopes: [{tools: a, prompts: b, scopes: [a]}]}").contains("write a rule for each"));
    assert!(first("auth: {scopes: [{tools: a}]}").contains("missing key `scopes`"));
    assert!(first("auth: {scopes: [{tools: a, scopes: []}]}").contains("missing key `scopes`"));
    assert!(first("auth: {scopes: [{tools: '[', scopes: [a]}]}").contains("a name or a glob"));
    assert!(first("auth: {scopes: [{tools: a, scopes: ['a b']}]}").contains("a scope must not contain spaces"));
}
