//! What helps after a server has refused a request.

use std::sync::Arc;

use http::HeaderValue;
use serde_json::json;

use super::fake::{Fake, StateFolder, log_in, parameters, redirect, request, tokens};
use crate::oauth::{LogInError, LogInState, LogIns};
use proxy_config::{OAuthConfig, ServerConfig};
use proxy_model::{AuthorizationRefusal, Credentials, LoginNeeded, Remedy};

/// Tokens that do not expire, with a number for each that was given.
async fn numbering(refreshable: bool) -> Fake {
    let given = std::sync::atomic::AtomicU64::new(0);
    Fake::with_metadata(move |asked| {
        (asked.line == "POST /token").then(|| {
            let number = given.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            let mut tokens = tokens(number, 3600);
            if !refreshable {
                tokens["refresh_token"] = json!("");
            }
            (200, tokens)
        })
    })
    .await
}

fn refusal(status: u16, challenge: &str, shown: Option<&'static str>) -> AuthorizationRefusal {
    let challenges = if challenge.is_empty() { Vec::new() } else { vec![challenge.to_owned()] };
    AuthorizationRefusal { status, challenges, shown: shown.map(HeaderValue::from_static), is_repeated: false }
}

async fn logged_in(folder: &StateFolder, server: &ServerConfig) -> (Arc<LogIns>, Arc<dyn Credentials>) {
    let log_ins = folder.log_ins();
    log_in(&log_ins, server).await;
    let credentials = log_ins.credentials("a", server).unwrap();
    credentials.authorization().await.unwrap().unwrap();
    (log_ins, credentials)
}

#[tokio::test]
async fn a_server_that_asks_for_a_log_in_gets_the_command_to_run() {
    let (fake, folder) = (Fake::start().await, StateFolder::new());
    let undeclared = folder.log_ins().credentials("a", &fake.server(None)).unwrap();
    assert_eq!(undeclared.authorization().await, Ok(None));
    let asks = "it needs authorization with the scopes `read write`: run `proxy login a`";
    let remedy = undeclared.refused(refusal(401, r#"Bearer scope="read write""#, None)).await;
    assert_eq!(remedy, Remedy::LogIn(LoginNeeded(asks.to_owned())));
    for other in [refusal(401, "Basic realm=x", None), refusal(401, "", None), refusal(403, "Bearer", None)] {
        assert_eq!(undeclared.refused(other).await, Remedy::None);
    }
    let declared = folder.log_ins().credentials("a", &fake.server(Some(OAuthConfig::default()))).unwrap();
    assert!(matches!(declared.refused(refusal(401, "", None)).await, Remedy::LogIn(_)), "the config says so");
}

#[tokio::test]
async fn a_refused_token_is_renewed_once() {
    let (fake, folder) = (numbering(true).await, StateFolder::new());
    let server = fake.server(None);
    let (log_ins, credentials) = logged_in(&folder, &server).await;
    let refused = |shown| credentials.refused(refusal(401, r#"Bearer error="invalid_token""#, Some(shown)));
    assert_eq!(refused("Bearer access-1").await, Remedy::Retry);
    assert_eq!(refused("Bearer access-1").await, Remedy::Retry, "a call that was under way");
    assert_eq!(fake.asked_for("POST /token").len(), 2, "one renewal for both");
    let second = AuthorizationRefusal { is_repeated: true, ..refusal(401, "Bearer", Some("Bearer access-2")) };
    assert!(matches!(credentials.refused(second).await, Remedy::LogIn(_)), "the renewed one too: no loop");
    assert_eq!(fake.asked_for("POST /token").len(), 2);
    let described = log_ins.describe("a", &server).await.unwrap();
    assert_eq!(described.state, LogInState::LogInNeeded, "and others are told");
    assert_eq!(refused("Bearer access-2").await, Remedy::Retry, "a token that has ended soon is renewed as any other");
    assert_eq!(fake.asked_for("POST /token").len(), 3);
    assert_eq!(log_ins.describe("a", &server).await.unwrap().state, LogInState::LoggedIn);
}

#[tokio::test]
async fn a_token_that_another_process_has_got_is_tried_first() {
    let (fake, folder) = (numbering(false).await, StateFolder::new());
    let server = fake.server(None);
    let (_log_ins, credentials) = logged_in(&folder, &server).await;
    let refused = |shown| credentials.refused(refusal(401, "Bearer", Some(shown)));
    assert!(matches!(refused("Bearer access-1").await, Remedy::LogIn(_)), "it cannot be renewed");
    log_in(&folder.log_ins(), &server).await;
    assert_eq!(refused("Bearer access-1").await, Remedy::Retry);
    assert_eq!(credentials.authorization().await.unwrap().unwrap(), "Bearer access-2");
}

#[tokio::test]
async fn lacking_scopes_are_noted_and_asked_for_at_the_next_log_in() {
    let (fake, folder) = (numbering(true).await, StateFolder::new());
    let server = fake.server(None);
    let (log_ins, credentials) = logged_in(&folder, &server).await;
    let lacking = r#"Bearer error="insufficient_scope", scope="write""#;
    let remedy = credentials.refused(refusal(403, lacking, Some("Bearer access-1"))).await;
    assert_eq!(remedy, Remedy::MoreScopes("needs `write`: run `proxy login a`".to_owned()));
    let described = folder.log_ins().describe("a", &server).await.unwrap();
    assert_eq!((described.state, described.wanted_scopes), (LogInState::LoggedIn, vec!["write".to_owned()]));
    assert_eq!(described.what_to_do.as_deref(), Some("needs `write`: run `proxy login a`"));
    assert_eq!(credentials.authorization().await.unwrap().unwrap(), "Bearer access-1", "the log-in itself is good");
    // Another process logs in.
    let mut pending = folder.log_ins().begin("a", &server, None, request()).await.unwrap();
    assert_eq!(parameters(&pending)["scope"], "read offline_access write");
    let redirect = redirect(&pending, "c");
    pending.finish(&redirect).await.unwrap();
    let remedy = credentials.refused(refusal(403, lacking, Some("Bearer access-1"))).await;
    assert_eq!(remedy, Remedy::Retry, "with the token that has it");
    drop(log_ins);
}

#[tokio::test]
async fn after_three_log_ins_that_did_not_help_the_next_is_refused() {
    let (fake, folder) = (numbering(true).await, StateFolder::new());
    let server = fake.server(None);
    let (log_ins, credentials) = logged_in(&folder, &server).await;
    for _ in 0..3 {
        let shown = credentials.authorization().await.unwrap();
        let challenges = vec![r#"Bearer error="insufficient_scope", scope="admin""#.to_owned()];
        let remedy =
            credentials.refused(AuthorizationRefusal { status: 403, challenges, shown, is_repeated: false }).await;
        assert!(matches!(remedy, Remedy::MoreScopes(_)));
        log_in(&log_ins, &server).await;
    }
    let shown = credentials.authorization().await.unwrap();
    let challenges = vec![r#"Bearer error="insufficient_scope", scope="admin""#.to_owned()];
    credentials.refused(AuthorizationRefusal { status: 403, challenges, shown, is_repeated: false }).await;
    let error = folder.log_ins().begin("a", &server, None, request()).await.unwrap_err();
    assert!(matches!(&error, LogInError::StepUp(text) if text.contains("keeps asking for `admin`")), "{error}");
    folder.log_ins().log_out("a", &server, None, false).await.unwrap();
    assert!(folder.log_ins().begin("a", &server, None, request()).await.is_ok(), "a log-out starts over");
}

#[tokio::test]
async fn a_probe_shows_nothing_and_remembers_what_was_asked_for() {
    let (fake, folder) = (numbering(true).await, StateFolder::new());
    let server = fake.server(None);
    let (log_ins, _) = logged_in(&folder, &server).await;
    let probe = log_ins.probe(&server).unwrap();
    assert_eq!(probe.authorization().await, Ok(None));
    assert_eq!(probe.challenge(), None);
    let asked = r#"Bearer resource_metadata="https://h/m", scope="read""#;
    assert!(matches!(probe.refused(refusal(401, asked, None)).await, Remedy::LogIn(_)));
    assert_eq!(probe.challenge().unwrap().scopes, ["read"]);
}
