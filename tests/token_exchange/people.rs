//! Two people, two tokens, two lists.

use serde_json::json;

use super::{Desk, call, client, tools};
use crate::support::issuer::{AUDIENCE, Issuer};
use crate::support::proxy::Proxy;

#[tokio::test]
async fn each_person_has_a_token_a_list_and_a_connection_of_their_own() {
    // Given two people of one issuer
    let desk = Desk::start().await;
    let proxy = desk.serving().await;
    let [ann, bob] = ["ann", "bob"].map(|sub| desk.issuer.token(sub));
    // When both list and call, in both eras
    assert_eq!(tools(&proxy, &ann).await, ["common", "only_ann"]);
    assert_eq!(tools(&proxy, &bob).await, ["common", "only_bob"]);
    assert_eq!(call(&proxy, &ann, "common").await.text(), "ann called common");
    assert_eq!(call(&proxy, &bob, "common").await.text(), "bob called common");
    let mut session = client(&proxy, &ann);
    session.initialize("2025-11-25").await.result();
    assert_eq!(session.request("tools/list", "{}").await.tool_names(), ["common", "only_ann"]);
    assert_eq!(session.call("only_ann", "{}").await.text(), "ann called only_ann");
    // Then what the other one has is unknown
    assert_eq!(call(&proxy, &bob, "only_ann").await.error_code(), -32602);
    // And each token was exchanged once
    let seen = desk.endpoint.seen();
    let subjects: Vec<&str> = seen.iter().map(|request| request.form["subject_token"].as_str()).collect();
    assert_eq!(subjects, [ann.as_str(), bob.as_str()]);
    let form = &seen[0].form;
    assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:token-exchange");
    assert_eq!(form["subject_token_type"], "urn:ietf:params:oauth:token-type:access_token");
    assert_eq!((form["audience"].as_str(), form["scope"].as_str()), ("desk", "read"));
    assert_eq!(seen[0].authorization.as_deref(), Some("Basic cHJveHk6c2VjcmV0LW9mLXRoZS1wcm94eQ=="));
    // And a list of one person is for no shared cache
    let listed = client(&proxy, &ann).modern("tools/list", "{}").await.value();
    assert_eq!(listed["result"]["cacheScope"], "private");
}

#[tokio::test]
async fn who_has_no_token_of_the_issuer_does_not_see_the_server() {
    // Given a second issuer, a static token, and anonymous callers
    let desk = Desk::start().await;
    let other = Issuer::start().await;
    let auth = ", tokens: [{token: static-token-of-eve, sub: eve}], allowAnonymous: true";
    let text = desk.config(auth, "sessionInit: {preset: passthrough}").text();
    let both = format!("issuers: [{{issuer: '{}', audiences: ['{AUDIENCE}'], prefix: 'other:'}}, ", other.url);
    let proxy = Proxy::with_config_text(&text.replace("issuers: [", &both)).http().await;
    // When the person has been there before
    let ann = desk.issuer.token("ann");
    assert_eq!(tools(&proxy, &ann).await, ["common", "only_ann"]);
    // Then the others have neither a list nor a call
    for token in ["static-token-of-eve", &other.token("ann")] {
        assert_eq!(tools(&proxy, token).await, [""; 0], "{token}");
        assert_eq!(call(&proxy, token, "common").await.error_code(), -32602);
    }
    assert_eq!(proxy.client().modern("tools/list", "{}").await.tool_names(), [""; 0]);
    assert_eq!(proxy.client().modern_call("common", "{}").await.error_code(), -32602);
    assert_eq!(desk.endpoint.seen().len(), 1, "only the token of the right issuer is shown");
    // And the operator sees what kind of server it is, but nobody's list
    let servers = proxy.world.run(["list-servers"]).await.expect(0).stdout;
    assert!(servers.contains("per person"), "{servers}");
    let listed = proxy.world.run(["list-tools"]).await.expect(0).stdout;
    assert!(!listed.contains("only_ann") && !listed.contains("common"), "{listed}");
    let listed = proxy.world.run(["list-tools", "--as-user", "corp:ann"]).await.stdout;
    assert!(!listed.contains("only_ann") && !listed.contains("common"), "{listed}");
    let called = proxy.world.run(["call", "common", "--as-user", "corp:ann"]).await;
    assert!(!called.stdout.contains("called common"), "{called:?}");
    assert_eq!(desk.server.count("tools/call"), 0);
}

#[tokio::test]
async fn a_new_token_of_the_same_person_is_used_on_the_same_connection() {
    let desk = Desk::start().await;
    let proxy = desk.serving().await;
    let [first, second] = ["1", "2"].map(|id| desk.issuer.token_with("ann", json!({"jti": id})));
    assert_eq!(tools(&proxy, &first).await, ["common", "only_ann"]);
    let connections = desk.server.count("initialize");
    assert_eq!(call(&proxy, &second, "common").await.text(), "ann called common");
    assert_eq!(desk.server.count("initialize"), connections);
    let subjects: Vec<String> = desk.endpoint.seen().iter().map(|seen| seen.form["subject_token"].clone()).collect();
    assert_eq!(subjects, [first, second.clone()]);
    // A token with other rights is another matter, and is never shown for a request without them.
    for rights in [json!({"scope": "more"}), json!({"roles": ["admin"]}), json!({"acr": "mfa"})] {
        let (other, before) = (desk.issuer.token_with("ann", rights), desk.server.count("initialize"));
        assert_eq!(tools(&proxy, &other).await, ["common", "only_ann"]);
        assert!(desk.server.count("initialize") > before);
        let exchanges = desk.endpoint.seen().len();
        assert_eq!(call(&proxy, &second, "common").await.text(), "ann called common");
        assert_eq!(desk.endpoint.seen().len(), exchanges);
    }
}

#[tokio::test]
async fn at_a_terminal_nobody_knows_who_calls() {
    let desk = Desk::start().await;
    let mut proxy = Proxy::new(&desk.config("", "sessionInit: {preset: passthrough}")).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    assert_eq!(proxy.tools().await, [""; 0]);
    let servers = proxy.world.run(["list-servers"]).await.stdout;
    assert!(servers.contains("it requires a token from its"), "{servers}");
    assert!(desk.endpoint.seen().is_empty() && desk.server.visits().is_empty());
}
