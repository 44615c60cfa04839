//! A server that turns to another authorization server: what belongs to the old one is shown to nobody else.

use serde_json::json;

use crate::support::authorization_server::AuthorizationServer;
use crate::support::log_ins::{log_in, opened, world, world_with};
use crate::support::protected_server::ProtectedServer;

#[tokio::test]
async fn the_proxy_registers_at_the_new_authorization_server_and_shows_it_nothing_of_the_old() {
    let (old, new) = (AuthorizationServer::start().await, AuthorizationServer::start().await);
    let server = ProtectedServer::start(&old).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    world.run(["call", "echo"]).await.expect(0);
    let client = old.seen().last("authorize").get("client_id").expect("a client").to_owned();

    server.set(|rules| rules.authorization_servers = vec![new.clone()]);
    let refused = world.run(["call", "echo"]).await;
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("proxy login cloud"), "{}", refused.stderr);

    log_in(&world).await.expect(0);
    world.run(["call", "echo"]).await.expect(0);
    assert_eq!(new.seen().count("register"), 1);
    let secrets = old.secrets();
    for kind in new.seen().kinds() {
        for seen in new.seen().of(&kind) {
            let shown = format!("{seen:?}");
            assert!(!shown.contains(&client), "{shown}");
            assert!(secrets.iter().all(|secret| !shown.contains(secret.as_str())), "{shown}");
        }
    }
}

#[tokio::test]
async fn a_client_that_was_registered_by_hand_is_shown_only_to_the_issuer_of_the_config() {
    let (old, new) = (AuthorizationServer::start().await, AuthorizationServer::start().await);
    for server in [&old, &new] {
        server.register("by-hand", Some("secret-of-by-hand"));
    }
    let server = ProtectedServer::start(&new).await;
    let auth =
        json!({"type": "oauth", "issuer": old.issuer(), "clientId": "by-hand", "clientSecret": "secret-of-by-hand"});
    let world = world_with(&server.url, json!({"auth": auth}));
    let done = log_in(&world).await.expect(1);
    assert!(done.stderr.contains(&old.issuer()) && done.stderr.contains(&new.issuer()), "{}", done.stderr);
    assert_eq!(opened(&world), [""; 0]);
    let kinds = new.seen().kinds();
    assert!(kinds.iter().all(|kind| kind == "metadata"), "{kinds:?}");
}
