//! What somebody sees who has a server that wants a log-in, and nothing but its URL.

use crate::support::authorization_server::AuthorizationServer;
use crate::support::log_ins::{log_in, state, world};
use crate::support::protected_server::ProtectedServer;

#[tokio::test]
async fn a_server_that_wants_a_log_in_says_what_to_run_and_then_works() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);

    let listed = world.run(["list-servers"]).await;
    assert!(listed.stdout.contains("login") && listed.stdout.contains("proxy login cloud"), "{listed:?}");
    let before = state(&world).await;
    assert_eq!(before["status"], "login", "{before}");
    assert!(before["error"].as_str().unwrap_or_default().contains("proxy login cloud"), "{before}");

    let done = log_in(&world).await.expect(0);
    assert!(done.stdout.contains(&authorization.issuer()), "{done:?}");

    assert_eq!(state(&world).await["status"], "ready");
    let listed = world.run(["list-tools"]).await.expect(0);
    assert!(listed.column().contains(&"echo"), "{}", listed.stdout);
    let called = world.run(["call", "echo", "n=1"]).await.expect(0);
    assert!(called.stdout.contains("\"n\""), "{}", called.stdout);
}
