//! Ending a log-in.

use serde_json::{Value, json};

use super::fake::{Fake, StateFolder, log_in, server_metadata, tokens};
use crate::oauth::{LogInKind, LogInState, LogOutReport};
use proxy_config::{OAuthConfig, RegisteredClient};
use proxy_model::Secret;

async fn revoking(status: u16) -> Fake {
    Fake::with_metadata(move |asked| match asked.line.as_str() {
        "POST /token" => Some((200, tokens(1, 3600))),
        "POST /revoke" => Some((status, Value::Null)),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn a_log_out_revokes_the_refresh_token_first_and_keeps_the_client() {
    let (fake, folder) = (revoking(200).await, StateFolder::new());
    let server = fake.server(None);
    log_in(&folder.log_ins(), &server).await;
    let report = folder.log_ins().log_out("a", &server, None, false).await.unwrap();
    assert_eq!(report.revoked, ["refresh token", "access token"]);
    assert!(report.was_logged_in && report.problems.is_empty() && !report.forgot_client);
    let revoked: Vec<String> =
        fake.asked_for("POST /revoke").iter().map(|asked| asked.form()["token"].clone()).collect();
    assert_eq!(revoked, ["refresh-1", "access-1"]);
    assert_eq!(fake.asked_for("POST /revoke")[0].form()["client_id"], "client-1");
    let record = folder.record();
    assert!(record["tokens"].is_null() && record["requested_scopes"] == json!([]));
    assert_eq!(record["registration"]["client_id"], "client-1");
    let described = folder.log_ins().describe("a", &server).await.unwrap();
    assert_eq!((described.kind, described.state), (LogInKind::OAuth, LogInState::LogInNeeded));
    let again = folder.log_ins().log_out("a", &server, None, true).await.unwrap();
    assert_eq!(again, LogOutReport { forgot_client: true, ..LogOutReport::default() });
    assert!(folder.records().is_empty());
    let described = folder.log_ins().describe("a", &server).await.unwrap();
    assert_eq!((described.kind, described.state), (LogInKind::Undeclared, LogInState::NotNeeded));
}

#[tokio::test]
async fn what_cannot_be_revoked_is_said_and_deleted() {
    for status in [404, 503, 0] {
        let (fake, folder) = (revoking(status).await, StateFolder::new());
        let server = fake.server(None);
        log_in(&folder.log_ins(), &server).await;
        let report = folder.log_ins().log_out("a", &server, None, true).await.unwrap();
        assert_eq!((report.revoked.len(), report.problems.len()), (0, 2), "{report:?}");
        assert!(report.problems.iter().all(|problem| !problem.contains("access-1")));
        assert!(folder.records().is_empty());
    }
    let (fake, folder) = (revoking(200).await, StateFolder::new());
    let origin = fake.origin.clone();
    fake.answers(move |asked| match asked.line.as_str() {
        "GET /.well-known/oauth-authorization-server" => {
            let mut metadata = server_metadata(&origin);
            metadata["revocation_endpoint"] = Value::Null;
            (200, metadata)
        }
        "POST /register" => (201, json!({"client_id": "c", "redirect_uris": []})),
        "POST /token" => (200, tokens(1, 3600)),
        _ => (404, Value::Null),
    });
    let server = fake.server(None);
    log_in(&folder.log_ins(), &server).await;
    let report = folder.log_ins().log_out("a", &server, None, false).await.unwrap();
    assert!(report.problems[0].contains("does not support revocation"), "{report:?}");
}

#[tokio::test]
async fn a_log_out_without_a_log_in_is_no_error() {
    let (fake, folder) = (revoking(200).await, StateFolder::new());
    let report = folder.log_ins().log_out("a", &fake.server(None), None, true).await.unwrap();
    assert_eq!(report, LogOutReport::default());
}

#[tokio::test]
async fn a_secret_goes_into_the_form_where_the_header_is_not_taken() {
    let fake = Fake::with_metadata(|asked| match asked.line.as_str() {
        "POST /token" => Some((200, tokens(1, 3600))),
        "POST /revoke" if asked.authorization.is_some() => Some((401, json!({"error": "unauthorized_client"}))),
        "POST /revoke" => Some((200, json!({}))),
        _ => None,
    })
    .await;
    let client = Some(RegisteredClient { id: "me".into(), secret: Some(Secret::new("s3cret")) });
    let auth = OAuthConfig { issuer: Some(fake.origin.clone()), client, ..OAuthConfig::default() };
    let (server, folder) = (fake.server(Some(auth)), StateFolder::new());
    log_in(&folder.log_ins(), &server).await;
    let report = folder.log_ins().log_out("a", &server, None, false).await.unwrap();
    assert_eq!((report.revoked.len(), report.problems.len()), (2, 0), "{report:?}");
    let asked = fake.asked_for("POST /revoke");
    assert_eq!(asked.len(), 4, "each token is tried once more");
    let form = asked[1].form();
    assert_eq!((form["client_id"].as_str(), form["client_secret"].as_str()), ("me", "s3cret"));
}
