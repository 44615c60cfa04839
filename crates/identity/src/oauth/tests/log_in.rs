//! From the authorization URL to the record.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::fake::{
    Fake, REDIRECT, StateFolder, log_in, parameters, redirect, request, resource_metadata, server_metadata, tokens,
};
use crate::oauth::{LogInError, LogInRequest, LogInState};
use proxy_config::{OAuthConfig, RegisteredClient, ResourceChoice};
use proxy_model::Secret;

async fn granting() -> Fake {
    Fake::with_metadata(|asked| (asked.line == "POST /token").then(|| (200, tokens(1, 3600)))).await
}

#[tokio::test]
async fn a_log_in_registers_asks_exchanges_and_saves() {
    let (fake, folder) = (granting().await, StateFolder::new());
    let (log_ins, server) = (folder.log_ins(), fake.server(None));
    let mut pending = log_ins.begin("a", &server, None, request()).await.unwrap();
    let asked = parameters(&pending);
    let expected = [("response_type", "code"), ("client_id", "client-1"), ("redirect_uri", REDIRECT)];
    for (name, value) in expected {
        assert_eq!(asked[name], value);
    }
    assert_eq!((asked["scope"].as_str(), asked["code_challenge_method"].as_str()), ("read offline_access", "S256"));
    assert_eq!(asked["resource"], fake.origin, "byte for byte as the metadata write it");
    assert!(asked["state"].len() >= 22, "128 bits");
    let registration = fake.asked_for("POST /register")[0].json();
    assert_eq!(registration["application_type"], "native");
    assert_eq!(registration["redirect_uris"], json!([REDIRECT]));
    assert_eq!(registration["token_endpoint_auth_method"], "none");
    assert_eq!(registration["grant_types"], json!(["authorization_code", "refresh_token"]));

    let redirect = redirect(&pending, "code-1");
    let report = pending.finish(&redirect).await.unwrap();
    assert_eq!((report.issuer.as_str(), report.refreshable), (fake.origin.as_str(), true));
    assert_eq!(report.scopes, ["read", "offline_access"]);
    let exchange = fake.asked_for("POST /token")[0].form();
    assert_eq!((exchange["code"].as_str(), exchange["resource"].as_str()), ("code-1", fake.origin.as_str()));
    let verifier = Sha256::digest(exchange["code_verifier"].as_bytes());
    assert_eq!(URL_SAFE_NO_PAD.encode(verifier), asked["code_challenge"]);
    let record = folder.record();
    assert_eq!(record["tokens"]["access_token"], "access-1");
    assert_eq!(record["tokens"]["refresh_token"], "refresh-1");
    assert_eq!(record["registration"]["client_id"], "client-1");
    assert!(matches!(pending.finish(&redirect).await, Err(LogInError::Refused(_))), "twice");
    assert_eq!(fake.asked_for("POST /token").len(), 1);
    let described = log_ins.describe("a", &server).await.unwrap();
    assert_eq!((described.state, described.refreshable), (LogInState::LoggedIn, true));
    let shown = format!("{described:?} {report:?} {pending:?}");
    assert!(!shown.contains("access-1") && !shown.contains("refresh-1"), "{shown}");
}

#[tokio::test]
async fn a_foreign_redirect_does_not_end_a_log_in() {
    let (fake, folder) = (granting().await, StateFolder::new());
    let mut pending = folder.log_ins().begin("a", &fake.server(None), None, request()).await.unwrap();
    for wrong in [format!("{REDIRECT}?code=c&state=guess"), format!("{REDIRECT}?code=c"), "nonsense".to_owned()] {
        assert!(matches!(pending.finish(&wrong).await, Err(LogInError::Callback(_))), "{wrong}");
    }
    assert!(fake.asked_for("POST /token").is_empty() && folder.record()["tokens"].is_null());
    let redirect = redirect(&pending, "code-1");
    assert!(pending.finish(&redirect).await.is_ok());
}

#[tokio::test]
async fn a_refusal_of_the_token_endpoint_is_shown_without_secrets() {
    let fake = Fake::with_metadata(|asked| {
        let echo = format!("code {} is spent", asked.form().get("code").cloned().unwrap_or_default());
        let refused = json!({"error": "invalid_grant", "error_description": echo});
        (asked.line == "POST /token").then_some((400, refused))
    })
    .await;
    let folder = StateFolder::new();
    let mut pending = folder.log_ins().begin("a", &fake.server(None), None, request()).await.unwrap();
    let redirect = redirect(&pending, "s3cret");
    let error = pending.finish(&redirect).await.unwrap_err().to_string();
    assert!(error.contains("`invalid_grant`") && !error.contains("s3cret"), "{error}");
}

#[tokio::test]
async fn a_registration_is_used_again_as_long_as_it_fits() {
    let registered = Arc::new(Mutex::new(0));
    let count = Arc::clone(&registered);
    let fake = Fake::with_metadata(move |asked| match asked.line.as_str() {
        "POST /register" => {
            *count.lock() += 1;
            let number = *count.lock();
            // The third has expired already.
            let end = if number == 3 { 1 } else { 0 };
            Some((201, json!({"client_id": format!("client-{number}"), "client_secret": "s3cret",
                "client_secret_expires_at": end, "token_endpoint_auth_method": "client_secret_basic", "redirect_uris": []})))
        }
        "POST /token" => Some((200, tokens(1, 3600))),
        _ => None,
    })
    .await;
    let (folder, server) = (StateFolder::new(), fake.server(None));
    let log_ins = folder.log_ins();
    log_in(&log_ins, &server).await;
    assert_eq!(log_ins.registered_port("a", &server, None).await.unwrap(), Some(7777));
    let exchange = fake.asked_for("POST /token").remove(0);
    assert_eq!(exchange.authorization, Some(format!("Basic {}", STANDARD.encode("client-1:s3cret"))));
    log_in(&folder.log_ins(), &server).await;
    assert_eq!(*registered.lock(), 1, "another process uses it too");
    let elsewhere = LogInRequest { redirect_uri: REDIRECT.replace("7777", "7778"), ..request() };
    let pending = log_ins.begin("a", &server, None, elsewhere.clone()).await.unwrap();
    assert_eq!((*registered.lock(), parameters(&pending)["client_id"].as_str()), (2, "client-2"), "another port");
    assert_eq!(folder.record()["registration"]["client_id"], "client-1", "the log-in in use keeps its client");
    log_ins.log_out("a", &server, None, true).await.unwrap();
    let _ = log_ins.begin("a", &server, None, request()).await.unwrap();
    assert_eq!(folder.record()["registration"]["client_id"], "client-3", "saved before the person comes back");
    assert_eq!(log_ins.registered_port("a", &server, None).await.unwrap(), None);
    let _ = log_ins.begin("a", &server, None, request()).await.unwrap();
    assert_eq!(*registered.lock(), 4, "an expired secret");
}

#[tokio::test]
async fn a_client_of_one_issuer_is_never_shown_to_another() {
    let first = granting().await;
    let second = Fake::with_metadata(|asked| match asked.line.as_str() {
        "POST /register" => Some((201, json!({"client_id": "client-2", "redirect_uris": []}))),
        "POST /token" => Some((200, tokens(2, 3600))),
        _ => None,
    })
    .await;
    let (folder, server) = (StateFolder::new(), first.server(None));
    log_in(&folder.log_ins(), &server).await;
    // The server turns to another authorization server.
    let (origin, other) = (first.origin.clone(), second.origin.clone());
    first.answers(move |asked| match asked.line.as_str() {
        "GET /.well-known/oauth-protected-resource/mcp" => {
            (200, json!({"resource": origin, "authorization_servers": [other]}))
        }
        _ => (404, Value::Null),
    });
    log_in(&folder.log_ins(), &server).await;
    assert_eq!(second.asked_for("POST /register").len(), 1, "it registers anew");
    let old = ["client-1", "access-1", "refresh-1"];
    assert!(second.asked().iter().all(|asked| !old.iter().any(|old| asked.body.contains(old))), "{:?}", second.asked());
    assert_eq!(second.asked_for("POST /token")[0].form()["client_id"], "client-2");
    assert_eq!(folder.record()["authorization_server"]["issuer"], second.origin);
}

#[tokio::test]
async fn a_client_can_come_from_the_config_or_from_a_document() {
    let folder = StateFolder::new();
    let fake = Fake::with_metadata(|asked| (asked.line == "POST /token").then(|| (200, tokens(1, 3600)))).await;
    let client = RegisteredClient { id: "mine".into(), secret: Some(Secret::new("s3cret")) };
    let config = OAuthConfig { issuer: Some(fake.origin.clone()), client: Some(client), ..OAuthConfig::default() };
    log_in(&folder.log_ins(), &fake.server(Some(config))).await;
    let exchange = fake.asked_for("POST /token").remove(0);
    assert_eq!(exchange.authorization, Some(format!("Basic {}", STANDARD.encode("mine:s3cret"))));
    assert!(fake.asked_for("POST /register").is_empty());

    let origin = fake.origin.clone();
    fake.answers(move |asked| match asked.line.as_str() {
        "GET /.well-known/oauth-protected-resource/mcp" => (200, resource_metadata(&origin)),
        "GET /.well-known/oauth-authorization-server" => {
            let mut metadata = server_metadata(&origin);
            metadata["client_id_metadata_document_supported"] = json!(true);
            (200, metadata)
        }
        _ => (404, Value::Null),
    });
    let document = "https://example.com/client.json".to_owned();
    let config = OAuthConfig { client_metadata_url: Some(document.clone()), ..OAuthConfig::default() };
    let pending = folder.log_ins().begin("a", &fake.server(Some(config)), None, request()).await.unwrap();
    assert_eq!(parameters(&pending)["client_id"], document);
    let config = OAuthConfig { register: false, ..OAuthConfig::default() };
    let error = StateFolder::new().log_ins().begin("a", &fake.server(Some(config)), None, request()).await.unwrap_err();
    assert!(matches!(&error, LogInError::Registration(text) if text.contains("by hand")), "{error}");
}

#[tokio::test]
async fn a_refused_registration_says_why() {
    let fake = Fake::with_metadata(|asked| {
        let refused =
            json!({"error": "invalid_redirect_uri", "error_description": "no\u{1b}loopback", "secret": "s3cret"});
        (asked.line == "POST /register").then_some((400, refused))
    })
    .await;
    let error =
        StateFolder::new().log_ins().begin("a", &fake.server(None), None, request()).await.unwrap_err().to_string();
    assert!(error.contains(r"`invalid_redirect_uri`: `no\u{1b}loopback`") && !error.contains("s3cret"), "{error}");
}

#[tokio::test]
async fn pkce_must_be_declared_unless_the_config_says_otherwise() {
    for (methods, strict, lax) in
        [(json!(["S256"]), true, true), (Value::Null, false, true), (json!(["plain"]), false, false)]
    {
        let fake = Fake::start().await;
        let origin = fake.origin.clone();
        fake.answers(move |asked| match asked.line.as_str() {
            "GET /.well-known/oauth-authorization-server" => {
                let mut metadata = server_metadata(&origin);
                metadata["code_challenge_methods_supported"] = methods.clone();
                (200, metadata)
            }
            "POST /register" => (201, json!({"client_id": "c", "redirect_uris": []})),
            _ => (404, Value::Null),
        });
        for (require_pkce_metadata, accepted) in [(true, strict), (false, lax)] {
            let config = OAuthConfig { require_pkce_metadata, ..OAuthConfig::default() };
            let begun = StateFolder::new().log_ins().begin("a", &fake.server(Some(config)), None, request()).await;
            assert_eq!(begun.is_ok(), accepted, "{begun:?}");
        }
    }
}

#[tokio::test]
async fn no_resource_is_sent_if_the_config_says_so() {
    let (fake, folder) = (granting().await, StateFolder::new());
    let server = fake.server(Some(OAuthConfig { resource: ResourceChoice::None, ..OAuthConfig::default() }));
    let mut pending = folder.log_ins().begin("a", &server, None, request()).await.unwrap();
    assert!(!parameters(&pending).contains_key("resource"));
    let redirect = redirect(&pending, "c");
    pending.finish(&redirect).await.unwrap();
    assert!(!fake.asked_for("POST /token")[0].form().contains_key("resource"));
}
