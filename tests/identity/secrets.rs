//! Tokens and what they say stay out of logs, reports and errors.

use serde_json::json;

use super::{client, config, list};
use crate::support::issuer::Issuer;
use crate::support::proxy::Proxy;

#[tokio::test]
async fn nothing_of_a_token_is_in_a_log_or_a_report() {
    let issuer = Issuer::start().await;
    let introspection = format!(
        ", introspection: {{url: '{}/introspect', clientId: door, clientSecret: secret-of-the-door}}",
        issuer.url
    );
    let config = config(&issuer, &introspection, "");
    let proxy = Proxy::new(&config).file("policy.star", super::SCRIPT).argument("--log=trace").http().await;
    issuer.add_opaque("opaque-token-7d1f", json!({"active": true, "sub": "ann", "aud": super::AUDIENCE}));
    let good = issuer.token_with("ann", json!({"internal": "claim-value-93a2", "email": "ann@secret.example"}));
    let bad = issuer.token_with("ann", json!({"aud": "other-audience-55c1"}));
    for token in [&good, &bad, "opaque-token-7d1f", "opaque-token-0000"] {
        let mut caller = client(&proxy, token);
        caller.send(&list()).await.text().await;
        caller.modern_call("echo", "{}").await;
    }
    let status = proxy.world.run(["status", "--json"]).await.expect(0).stdout;
    let log = proxy.program.stderr.text();
    assert!(log.contains("TRACE") || log.contains("trace"), "the log is that of a whole run: {log}");
    let signatures = [&good, &bad].map(|token| token.rsplit_once('.').expect("a JWT").1.to_owned());
    let secrets =
        ["opaque-token", "claim-value-93a2", "ann@secret.example", "other-audience-55c1", "secret-of-the-door"];
    for secret in secrets.into_iter().chain(signatures.iter().map(String::as_str)) {
        assert!(!log.contains(secret), "the log has {secret}");
        assert!(!status.contains(secret), "the status has {secret}");
    }
}
