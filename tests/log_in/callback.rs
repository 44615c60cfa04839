//! What the browser comes back with is believed only if it is the answer to this log-in.

use futures::future::join_all;
use serde_json::json;

use crate::support::authorization_server::{Approval, AuthorizationServer};
use crate::support::log_ins::{log_in, log_in_with, opened, records, world, world_with};
use crate::support::protected_server::ProtectedServer;

#[tokio::test]
async fn an_answer_that_is_not_to_this_log_in_brings_no_token() {
    let lies = [
        Approval::WrongState,
        Approval::NoState,
        Approval::NoCode,
        Approval::WrongIssuer,
        Approval::NoIssuer,
        Approval::DeniedByWrongIssuer,
        Approval::Denied,
    ];
    // Each may be a stray request, after which the right one is awaited until the time is over.
    join_all(lies.map(async |lie| {
        let authorization = AuthorizationServer::with(|settings| settings.approval = lie).await;
        let server = ProtectedServer::start(&authorization).await;
        let world = world(&server);
        let done = log_in_with(&world, &["--timeout", "6s"]).await.expect(1);
        assert_eq!(authorization.seen().count("authorize"), 1, "{lie:?}");
        assert_eq!(authorization.seen().count("authorization_code"), 0, "{lie:?}: no code is exchanged");
        let said = format!("{}{}", done.stdout, done.stderr);
        assert_eq!(said.contains("access_denied"), lie == Approval::Denied, "{lie:?}: {said}");
        // Only the registration may be there.
        for secret in ["access-", "refresh-", "code-"] {
            for record in records(&world) {
                let text = std::fs::read_to_string(record).expect("a record");
                assert!(!text.contains(secret), "{lie:?}: {text}");
            }
        }
    }))
    .await;
}

#[tokio::test]
async fn an_answer_without_an_issuer_is_good_where_none_is_declared() {
    let authorization = AuthorizationServer::with(|settings| {
        settings.approval = Approval::NoIssuer;
        settings.declares_issuer_parameter = false;
    })
    .await;
    let server = ProtectedServer::start(&authorization).await;
    log_in(&world(&server)).await.expect(0);
}

#[tokio::test]
async fn a_page_that_is_no_page_is_not_opened() {
    for endpoint in ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "http://192.0.2.1/authorize"] {
        let authorization =
            AuthorizationServer::with(|settings| settings.authorization_endpoint = Some(endpoint.to_owned())).await;
        let server = ProtectedServer::start(&authorization).await;
        let world = world(&server);
        let done = log_in(&world).await.expect(1);
        assert_eq!(opened(&world), [""; 0], "{endpoint}");
        assert!(!done.stdout.contains(endpoint), "nobody is asked to open it by hand: {}", done.stdout);
    }
}

#[tokio::test]
async fn the_address_of_a_page_is_one_argument_whatever_it_holds() {
    let authorization = AuthorizationServer::start().await;
    let endpoint = format!("{}/authorize?a=$(touch${{IFS}}pwned);`touch${{IFS}}pwned`&b='\"|c", authorization.url);
    authorization.set(|settings| settings.authorization_endpoint = Some(endpoint));
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    let opened = opened(&world);
    assert!(opened[0].contains("touch$") || opened[0].contains("touch%24"), "{opened:?}");
    assert!(!world.directory.path().join("pwned").exists());
}

#[tokio::test]
async fn a_port_that_is_taken_is_said_or_avoided() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("it is bound").port();

    // The one of the command line, or of the config, is meant.
    let chosen = world(&server);
    let done = log_in_with(&chosen, &["--port", &port.to_string()]).await.expect(1);
    assert!(done.stderr.contains(&port.to_string()), "{}", done.stderr);
    let configured = world_with(&server.url, json!({"auth": {"type": "oauth", "redirectPort": port}}));
    let done = log_in(&configured).await.expect(1);
    assert!(done.stderr.contains(&port.to_string()), "{}", done.stderr);

    // The one of an earlier registration is not: the client registers again.
    drop(taken);
    let world = world(&server);
    log_in(&world).await.expect(0);
    let first = authorization.seen().last("authorize").get("redirect_uri").expect("an address").to_owned();
    let registered = first.split(':').nth(2).and_then(|rest| rest.split('/').next()).expect("a port");
    let _taken = std::net::TcpListener::bind(format!("127.0.0.1:{registered}")).expect("it is free again");
    log_in(&world).await.expect(0);
    assert_ne!(authorization.seen().last("authorize").get("redirect_uri"), Some(first.as_str()));
    world.run(["call", "echo"]).await.expect(0);
}
