//! The proxy registers as a client where it may, keeps what it got, and proves who it is as was agreed.

use serde_json::json;

use crate::support::authorization_server::{AuthorizationServer, Registration};
use crate::support::log_ins::{log_in, opened, records, world, world_with};
use crate::support::protected_server::ProtectedServer;

#[tokio::test]
async fn every_kind_of_client_is_known_again_after_a_restart() {
    let kinds = [Registration::Public, Registration::Basic, Registration::Post, Registration::EmptySecret];
    for kind in kinds {
        let authorization = AuthorizationServer::with(|settings| settings.registration = kind).await;
        let server = ProtectedServer::start(&authorization).await;
        let world = world(&server);
        log_in(&world).await.expect(0);
        authorization.end_access_tokens();
        // Another process, which has nothing but the record.
        world.run(["call", "echo"]).await.expect(0);
        let refresh = authorization.seen().last("refresh_token");
        let proof = (refresh.authorization.is_some(), refresh.get("client_secret").is_some());
        let expected = match kind {
            Registration::Basic => (true, false),
            Registration::Post => (false, true),
            _ => (false, false),
        };
        assert_eq!(proof, expected, "{kind:?}: {refresh:?}");
    }
}

#[tokio::test]
async fn a_registration_says_what_kind_of_program_this_is_and_is_used_again() {
    let authorization = AuthorizationServer::with(|settings| settings.registration = Registration::Basic).await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    log_in(&world).await.expect(0);
    let declared = authorization.declared();
    let [declared] = declared.as_slice() else { panic!("registered more than once: {declared:?}") };
    assert_eq!(declared["application_type"], "native", "{declared}");
    let grants = declared["grant_types"].as_array().expect("a list").clone();
    assert!(grants.contains(&json!("authorization_code")) && grants.contains(&json!("refresh_token")), "{declared}");
    assert!(declared["client_name"].is_string(), "{declared}");
    // The address of the first time, since some authorization servers compare it to the letter.
    let redirect = &declared["redirect_uris"][0];
    for request in authorization.seen().of("authorize") {
        assert_eq!(request.get("redirect_uri"), redirect.as_str());
    }
    assert_eq!(opened(&world).len(), 2);
}

#[tokio::test]
async fn a_secret_that_has_expired_is_replaced_by_another_registration() {
    let authorization = AuthorizationServer::with(|settings| {
        settings.registration = Registration::Basic;
        settings.secret_expires_at = 1;
    })
    .await;
    let server = ProtectedServer::start(&authorization).await;
    let world = world(&server);
    log_in(&world).await.expect(0);
    authorization.set(|settings| settings.secret_expires_at = 0);
    log_in(&world).await.expect(0);
    assert_eq!(authorization.seen().count("register"), 2);
    log_in(&world).await.expect(0);
    assert_eq!(authorization.seen().count("register"), 2, "the second one does not expire");
}

#[tokio::test]
async fn a_registration_that_is_refused_says_so_and_leaves_nothing() {
    for kind in [Registration::Refused, Registration::Absent] {
        let authorization = AuthorizationServer::with(|settings| settings.registration = kind).await;
        let server = ProtectedServer::start(&authorization).await;
        let world = world(&server);
        let done = log_in(&world).await.expect(1);
        assert!(done.stderr.contains("clientId"), "the way out is named: {}", done.stderr);
        assert_eq!(authorization.seen().count("authorize"), 0);
        assert_eq!(records(&world).len(), 0);
    }
}

#[tokio::test]
async fn a_client_that_was_registered_by_hand_or_is_a_document_needs_no_registration() {
    let authorization = AuthorizationServer::with(|settings| settings.client_documents = true).await;
    authorization.register("by-hand", Some("secret of by-hand: 1+1&x"));
    let server = ProtectedServer::start(&authorization).await;
    let by_hand = json!({"type": "oauth", "issuer": authorization.issuer(), "clientId": "by-hand",
        "clientSecret": "secret of by-hand: 1+1&x", "register": false});
    let document = json!({"type": "oauth", "clientMetadataUrl": "https://proxy.example/client.json"});
    for (auth, id) in [(by_hand, "by-hand"), (document, "https://proxy.example/client.json")] {
        let world = world_with(&server.url, json!({"auth": auth}));
        log_in(&world).await.expect(0);
        authorization.end_access_tokens();
        world.run(["call", "echo"]).await.expect(0);
        assert_eq!(authorization.seen().last("authorize").get("client_id"), Some(id));
    }
    assert_eq!(authorization.seen().count("register"), 0);
}
