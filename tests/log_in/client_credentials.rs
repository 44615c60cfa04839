//! The proxy logs in as itself: with a secret or a key, without a person.

use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::support::authorization_server::{AuthorizationServer, Registration};
use crate::support::log_ins::{log_in, state, world_with};
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::Proxy;

const GRANT: &str = "client_credentials";

#[tokio::test]
async fn a_secret_is_shown_as_the_authorization_server_wants_it() {
    for kind in [Registration::Basic, Registration::Post] {
        let authorization = AuthorizationServer::with(|settings| settings.registration = kind).await;
        authorization.register("jobs", Some("secret-of-jobs"));
        let server = ProtectedServer::start(&authorization).await;
        let auth = json!({"type": GRANT_TYPE, "clientId": "jobs", "clientSecret": "secret-of-jobs", "scopes": ["run"]});
        let world = world_with(&server.url, json!({"auth": auth}));
        world.run(["call", "echo"]).await.expect(0);
        let request = authorization.seen().last(GRANT);
        assert_eq!(request.authorization.is_some(), kind == Registration::Basic, "{request:?}");
        assert_eq!(request.get("scope"), Some("run"));
        assert_eq!(request.get("resource"), Some(server.url.as_str()));
        // There is nobody to log in.
        let done = log_in(&world).await.expect(2);
        assert!(done.stderr.contains(GRANT_TYPE), "{}", done.stderr);
    }
}

#[tokio::test]
async fn tokens_are_fetched_again_when_they_end() {
    let authorization = AuthorizationServer::with(|settings| settings.registration = Registration::Basic).await;
    authorization.register("jobs", Some("secret-of-jobs"));
    let server = ProtectedServer::start(&authorization).await;
    let auth = json!({"type": GRANT_TYPE, "clientId": "jobs", "clientSecret": "secret-of-jobs"});
    let mut proxy = world_with(&server.url, json!({"auth": auth})).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.tools_until(|names| names.iter().any(|name| name == "echo")).await;
    assert_eq!(authorization.seen().count(GRANT), 1);
    authorization.end_access_tokens();
    assert_eq!(proxy.client.call("echo", r#"{"n":1}"#).await.structured(), r#"{"n":1}"#);
    assert_eq!(authorization.seen().count(GRANT), 2);
}

#[tokio::test]
async fn a_secret_that_is_wrong_is_said_and_not_shown() {
    let authorization = AuthorizationServer::with(|settings| settings.registration = Registration::Basic).await;
    authorization.register("jobs", Some("secret-of-jobs"));
    let server = ProtectedServer::start(&authorization).await;
    let auth = json!({"type": GRANT_TYPE, "clientId": "jobs", "clientSecret": "not-the-secret"});
    let state = state(&world_with(&server.url, json!({"auth": auth}))).await;
    assert_ne!(state["status"], "ready", "{state}");
    let error = state["error"].as_str().unwrap_or_default();
    assert!(error.contains("invalid_client") && !error.contains("not-the-secret"), "{state}");
}

const GRANT_TYPE: &str = "clientCredentials";

/// Makes a key pair beside the config; nothing without OpenSSL.
fn make_key(world: &Proxy, kind: &[&str]) -> bool {
    let run = |arguments: &[&str]| {
        let outcome = Command::new("openssl").args(arguments).current_dir(world.directory.path()).output();
        outcome.is_ok_and(|output| output.status.success())
    };
    let mut generate = vec!["genpkey", "-out", "key.pem"];
    generate.extend(kind);
    run(&generate) && run(&["pkey", "-in", "key.pem", "-pubout", "-out", "public.pem"])
}

#[tokio::test]
async fn a_key_signs_what_the_client_says() {
    let kinds: [(&str, &[&str]); 2] = [
        ("RS256", &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]),
        ("ES256", &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]),
    ];
    for (algorithm, kind) in kinds {
        let authorization = AuthorizationServer::with(|settings| settings.registration = Registration::Absent).await;
        let server = ProtectedServer::start(&authorization).await;
        let auth = json!({"type": GRANT_TYPE, "clientId": "jobs", "privateKeyFile": "key.pem", "keyId": "k1",
            "algorithm": algorithm});
        let world = world_with(&server.url, json!({"auth": auth}));
        if !make_key(&world, kind) {
            return crate::support::real_servers::missing("openssl does not work here").unwrap_or_default();
        }
        world.run(["call", "echo"]).await.expect(0);
        let request = authorization.seen().last(GRANT);
        assert_eq!(request.get("client_id"), None, "the assertion says it");
        let assertion = request.get("client_assertion").expect("an assertion");
        let parts: Vec<_> = assertion.split('.').collect();
        let header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[0]).expect("base64")).expect("JSON");
        assert_eq!((&header["alg"], &header["kid"]), (&json!(algorithm), &json!("k1")));
        // The conformance suite verifies ES256.
        if algorithm == "RS256" {
            let signature = URL_SAFE_NO_PAD.decode(parts[2]).expect("base64");
            std::fs::write(world.directory.path().join("signature"), signature).expect("a file");
            world.directory.write("signed", &format!("{}.{}", parts[0], parts[1]));
            let arguments = ["dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", "signed"];
            let verified = Command::new("openssl").args(arguments).current_dir(world.directory.path()).output();
            assert!(verified.expect("it has just run").status.success());
        }
    }
}

#[tokio::test]
async fn a_key_that_is_none_fails_the_server_with_the_name_of_its_file() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let auth = json!({"type": GRANT_TYPE, "clientId": "jobs", "privateKeyFile": "key.pem"});
    let world = world_with(&server.url, json!({"auth": auth})).file("key.pem", "this is no key but private");
    let state = state(&world).await;
    assert_ne!(state["status"], "ready", "{state}");
    let error = state["error"].as_str().unwrap_or_default();
    assert!(error.contains("key.pem") && !error.contains("but private"), "{state}");
    assert_eq!(authorization.seen().count(GRANT), 0);
}
