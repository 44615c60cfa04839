//! `proxy logout`: the log-in ends at the authorization server and here.

use crate::support::authorization_server::{AuthorizationServer, Fault};
use crate::support::log_ins::{log_in, record, records, world};
use crate::support::protected_server::ProtectedServer;

#[tokio::test]
async fn a_log_out_ends_the_log_in_on_both_sides_and_keeps_the_client() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    let (access, refresh) = (authorization.newest("access"), authorization.newest("refresh"));
    world.run(["logout", "cloud"]).await.expect(0);
    let revoked: Vec<_> = authorization.seen().of("revoke");
    let tokens: Vec<_> = revoked.iter().filter_map(|seen| seen.get("token")).collect();
    assert_eq!(tokens.first(), Some(&refresh.as_str()), "the one that could make others goes first");
    assert!(authorization.scopes_of(&access).is_none());
    for path in records(&world) {
        let text = std::fs::read_to_string(path).expect("a record");
        assert!(!text.contains(&access) && !text.contains(&refresh), "{text}");
    }
    assert_ne!(world.run(["call", "echo"]).await.code, 0);
    log_in(&world).await.expect(0);
    assert_eq!(authorization.seen().count("register"), 1);
    world.run(["logout", "cloud", "--forget-client"]).await.expect(0);
    log_in(&world).await.expect(0);
    assert_eq!(authorization.seen().count("register"), 2);
}

#[tokio::test]
async fn a_log_out_that_cannot_be_told_to_the_authorization_server_says_so_and_happens() {
    for fault in [Fault::Status(503), Fault::Status(404), Fault::Reset] {
        let authorization = AuthorizationServer::start().await;
        let server = ProtectedServer::start(&authorization).await;
        let world = world(&server);
        log_in(&world).await.expect(0);
        let refresh = authorization.newest("refresh");
        assert!(record(&world).contains(&refresh));
        for _ in 0..4 {
            authorization.next("revoke", fault.clone());
        }
        let done = world.run(["logout", "cloud"]).await.expect(0);
        assert!(format!("{}{}", done.stdout, done.stderr).contains("revoke"), "{fault:?}: {done:?}");
        assert!(
            records(&world).iter().all(|path| !std::fs::read_to_string(path).expect("a record").contains(&refresh))
        );
    }
}
