//! What the server and its authorization server say about themselves is checked before anybody is sent anywhere.

use serde_json::json;

use crate::support::authorization_server::{AuthorizationServer, MetadataPlace};
use crate::support::finished::Finished;
use crate::support::log_ins::{log_in, opened, world, world_with};
use crate::support::protected_server::ProtectedServer;

/// Logs in, which must fail before the authorization server is asked for anything but its metadata.
async fn refused(authorization: &AuthorizationServer, server: &ProtectedServer) -> Finished {
    let world = world(server);
    let done = log_in(&world).await.expect(1);
    assert_eq!(opened(&world), [""; 0], "nobody is sent anywhere");
    let kinds = authorization.seen().kinds();
    assert!(kinds.iter().all(|kind| kind == "metadata"), "{kinds:?}");
    done
}

#[tokio::test]
async fn a_resource_that_is_not_the_server_ends_the_log_in() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let url = server.url.clone();
    let resources = [
        "https://elsewhere.example/mcp".to_owned(),
        url.replace("http://", "https://"),
        url.replace("/mcp", "/other"),
        url.replace("/mcp", "/mc"),
        format!("{url}#part"),
        url.replace("127.0.0.1", "localhost"),
        "http://127.0.0.1:1/mcp".to_owned(),
    ];
    for resource in resources {
        server.set(|rules| rules.resource = Some(resource.clone()));
        let done = refused(&authorization, &server).await;
        let shown = resource.split('#').next().unwrap_or_default();
        assert!(done.stderr.contains(shown), "{resource}: {}", done.stderr);
    }
}

#[tokio::test]
async fn a_resource_above_the_server_is_taken_as_it_is_written() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let origin = server.url.trim_end_matches("/mcp").to_owned();
    server.set(|rules| {
        rules.resource = Some(origin.clone());
        rules.metadata_at_root = true;
        rules.names_metadata = false;
    });
    let world = world(&server);
    log_in(&world).await.expect(0);
    for kind in ["authorize", "authorization_code"] {
        assert_eq!(authorization.seen().last(kind).get("resource"), Some(origin.as_str()), "{kind}");
    }
    world.run(["call", "echo"]).await.expect(0);
}

#[tokio::test]
async fn metadata_are_looked_for_in_one_order_and_never_at_the_root_of_another() {
    let places = [
        (MetadataPlace::OAuth, "/.well-known/oauth-authorization-server/tenant1"),
        (MetadataPlace::OpenIdInserted, "/.well-known/openid-configuration/tenant1"),
        (MetadataPlace::OpenIdAppended, "/tenant1/.well-known/openid-configuration"),
    ];
    for (at, (place, _)) in places.into_iter().enumerate() {
        let authorization = AuthorizationServer::with(|settings| {
            settings.issuer_path = "/tenant1";
            settings.place = place;
        })
        .await;
        let server = ProtectedServer::start(&authorization).await;
        log_in(&world(&server)).await.expect(0);
        let mut asked: Vec<_> = authorization.seen().of("metadata").into_iter().map(|seen| seen.path).collect();
        asked.dedup();
        // The same document may be read again, and nothing else is.
        let expected: Vec<_> = places[..=at].iter().map(|(_, path)| *path).collect();
        assert_eq!(asked[..expected.len()], expected, "{place:?}");
        assert!(asked.iter().all(|path| expected.contains(&path.as_str())), "{place:?}: {asked:?}");
    }
}

#[tokio::test]
async fn metadata_of_another_issuer_are_not_used() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    for claimed in ["https://attacker.example".to_owned(), format!("{}/tenant1", authorization.url)] {
        authorization.set(|settings| settings.claimed_issuer = Some(claimed.clone()));
        refused(&authorization, &server).await;
    }
    // Many servers end their issuer with a slash and are named without.
    let with_slash = format!("{}/", authorization.url);
    authorization.set(|settings| settings.claimed_issuer = Some(with_slash));
    log_in(&world(&server)).await.expect(0);
}

#[tokio::test]
async fn an_authorization_server_without_metadata_is_not_guessed_at() {
    let authorization = AuthorizationServer::with(|settings| settings.place = MetadataPlace::Absent).await;
    let server = ProtectedServer::start(&authorization).await;
    let done = refused(&authorization, &server).await;
    assert!(done.stderr.contains(&authorization.url), "{}", done.stderr);
}

#[tokio::test]
async fn an_authorization_server_that_does_not_declare_pkce_is_refused_unless_the_config_allows_it() {
    let authorization = AuthorizationServer::with(|settings| settings.declares_pkce = false).await;
    let server = ProtectedServer::start(&authorization).await;
    let done = refused(&authorization, &server).await;
    assert!(done.stderr.contains("requirePkceMetadata"), "the way out is named: {}", done.stderr);
    let world = world_with(&server.url, json!({"auth": {"type": "oauth", "requirePkceMetadata": false}}));
    log_in(&world).await.expect(0);
    world.run(["call", "echo"]).await.expect(0);
}

#[tokio::test]
async fn a_server_that_refuses_without_a_challenge_has_failed_and_wants_no_log_in() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::with(&authorization, |rules| rules.challenges = false).await;
    let state = crate::support::log_ins::state(&world(&server)).await;
    assert_eq!(state["status"], "failed", "{state}");
    let error = state["error"].as_str().unwrap_or_default();
    assert!(error.contains("set `headers`") && !error.contains("run `proxy login"), "{state}");
}
