//! Tools that need more than was granted: the proxy says what to run, and asks for everything at once.

use crate::support::authorization_server::AuthorizationServer;
use crate::support::log_ins::{log_in, log_in_with, world};
use crate::support::protected_server::ProtectedServer;

fn scopes(authorization: &AuthorizationServer) -> Vec<String> {
    let asked = authorization.seen().last("authorize");
    let mut scopes: Vec<_> = asked.get("scope").unwrap_or_default().split(' ').map(str::to_owned).collect();
    scopes.sort();
    scopes
}

#[tokio::test]
async fn a_tool_that_needs_another_scope_says_so_and_the_next_log_in_asks_for_all_of_them() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::with(&authorization, |rules| {
        rules.challenge_scope = Some("list");
        rules.scopes_supported = Some(vec!["everything"]);
        rules.tool_scopes = vec![("echo", "read"), ("add_tool", "write")];
    })
    .await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    assert_eq!(scopes(&authorization), ["list"]);

    // Each command is a process of its own: what is wanted outlives it.
    for (tool, wanted) in [("echo", vec!["list", "read"]), ("add_tool", vec!["list", "read", "write"])] {
        let refused = world.run(["call", tool, "name=x"]).await;
        assert_ne!(refused.code, 0);
        let said = format!("{}{}", refused.stdout, refused.stderr);
        assert!(said.contains("proxy login cloud") && said.contains(wanted[wanted.len() - 1]), "{said}");
        let listed = world.run(["list-tools"]).await.expect(0);
        assert!(listed.column().contains(&tool), "the other tools work as before: {}", listed.stdout);
        world.run(["login", "--list"]).await.expect(1);
        log_in(&world).await.expect(0);
        assert_eq!(scopes(&authorization), wanted);
        world.run(["call", tool, "name=x"]).await.expect(0);
        world.run(["login", "--list"]).await.expect(0);
    }
}

#[tokio::test]
async fn a_server_that_is_never_content_is_not_asked_for_ever() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::with(&authorization, |rules| {
        rules.tool_scopes = vec![("echo", "admin")];
        rules.never_content = true;
    })
    .await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    let mut refused = None;
    for _ in 0..5 {
        assert_ne!(world.run(["call", "echo"]).await.code, 0);
        let done = log_in(&world).await;
        if done.code != 0 {
            refused = Some(done);
            break;
        }
    }
    let refused = refused.expect("at some time it is enough");
    assert!(refused.stderr.contains("admin"), "{}", refused.stderr);
    assert!(authorization.seen().count("authorize") <= 4, "{:?}", authorization.seen().kinds());
}

#[tokio::test]
async fn scopes_of_the_command_line_are_asked_for_too() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::with(&authorization, |rules| rules.challenge_scope = Some("list")).await;
    log_in_with(&world(&server), &["--scope", "extra", "--scope", "more"]).await.expect(0);
    assert_eq!(scopes(&authorization), ["extra", "list", "more"]);
}
