//! Logging in to what other people have written: the judges of the flow.

use futures::future::join_all;

use crate::support::log_ins::{log_in, world, world_with};
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::protected_server::{Foreign, ProtectedServer};
use crate::support::real_servers;
use crate::support::rmcp_client::{RmcpClient, legacy, modern};

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn a_protected_server_of_the_python_sdk_is_logged_in_at_and_stays_so() {
    let Some((command, url)) = real_servers::python_protected() else { return };
    let (mut program, _stdin, _stdout) = Program::start(command);
    program.stderr.patience = LONG_PATIENCE;
    program.stderr.line("running on").await;
    let world = world_with(&url, serde_json::json!({}));
    log_in(&world).await.expect(0);
    world.run(["call", "shout", "text=hello"]).await.expect(0);
    for lifecycle in [legacy(), modern()] {
        let client = RmcpClient::stdio(world.serve_command(), lifecycle).await;
        // A token is good for a few requests only.
        for _ in 0..10 {
            let result = client.call("shout", serde_json::json!({"text": "hello"})).await;
            assert!(format!("{result:?}").contains("HELLO"), "{result:?}");
        }
        client.finish().await;
    }
    program.stderr.times("refreshed", 2).await;
    // Its revocation wants the secret in the form, also of clients that prove themselves by the header.
    let done = world.run(["logout", "cloud"]).await.expect(0);
    assert!(format!("{}{}", done.stdout, done.stderr).contains("could not be revoked"), "{done:?}");
    assert_ne!(world.run(["call", "shout", "text=hello"]).await.code, 0);
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn oidc_provider_is_content_with_registration_log_in_refresh_and_revocation() {
    let Some((command, issuer)) = real_servers::oidc_provider("opaque") else { return };
    let (mut program, _stdin, _stdout) = Program::start(command);
    program.stderr.patience = LONG_PATIENCE;
    program.stderr.line("listening on").await;
    let server = ProtectedServer::before(None, &["--only", "echo"], |rules| {
        rules.foreign = Some(Foreign {
            introspection: format!("{issuer}/token/introspection"),
            issuer,
            client: "door",
            secret: "secret-of-the-door",
        });
        rules.challenge_scope = Some("tools");
    })
    .await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    world.run(["call", "echo"]).await.expect(0);
    // It revokes everything when a refresh token is shown twice.
    for _ in 0..2 {
        server.refuse_known_tokens();
        for finished in join_all((0..3).map(|_| world.run(["call", "echo"]))).await {
            finished.expect(0);
        }
    }
    program.stderr.times("granted refresh_token", 2).await;
    assert_eq!(program.stderr.text().matches("granted refresh_token").count(), 2, "{}", program.stderr.text());
    world.run(["logout", "cloud"]).await.expect(0);
    assert!(!program.stderr.text().contains("refused"), "{}", program.stderr.text());
    assert_ne!(world.run(["call", "echo"]).await.code, 0);
    log_in(&world).await.expect(0);
    world.run(["call", "echo"]).await.expect(0);
}
