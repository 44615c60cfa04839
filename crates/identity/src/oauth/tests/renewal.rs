//! Renewals: one for all, saved before use, and nothing lost when they fail.

use std::sync::Arc;

use futures::future::join_all;
use http::HeaderValue;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::fake::{Fake, StateFolder, log_in, tokens};
use proxy_config::{OAuthConfig, ResourceChoice, ServerConfig};
use proxy_model::{AuthorizationRefusal, Credentials, LoginNeeded, Remedy};

/// An authorization server whose refresh tokens are good for one use. A second use ends the log-in, as RFC 9700 says.
#[derive(Default)]
struct Rotating {
    /// The number of the tokens that are good.
    current: u64,
    reused: bool,
}

impl Rotating {
    fn answer(&mut self, refresh_token: &str) -> (u16, Value) {
        if self.reused || refresh_token != format!("refresh-{}", self.current) {
            self.reused = true;
            return (400, json!({"error": "invalid_grant"}));
        }
        self.current += 1;
        (200, tokens(self.current, 3600))
    }
}

/// A server at which the first tokens have expired when they are given.
async fn rotating() -> (Fake, Arc<Mutex<Rotating>>) {
    let state = Arc::new(Mutex::new(Rotating::default()));
    let rotating = Arc::clone(&state);
    let fake = Fake::with_metadata(move |asked| {
        let form = (asked.line == "POST /token").then(|| asked.form())?;
        let mut state = rotating.lock();
        match form.get("refresh_token") {
            Some(token) => Some(state.answer(token)),
            None => {
                state.current = 1;
                Some((200, tokens(1, 0)))
            }
        }
    })
    .await;
    (fake, state)
}

fn credentials(folder: &StateFolder, server: &ServerConfig) -> Arc<dyn Credentials> {
    folder.log_ins().credentials("a", server).unwrap()
}

fn text(outcome: Result<Option<HeaderValue>, LoginNeeded>) -> String {
    outcome.unwrap().unwrap().to_str().unwrap().to_owned()
}

fn renewals(fake: &Fake) -> usize {
    fake.asked_for("POST /token").iter().filter(|asked| asked.form().contains_key("refresh_token")).count()
}

#[tokio::test]
async fn fifty_calls_at_expiry_cause_one_renewal_which_is_saved() {
    let ((fake, _), folder) = (rotating().await, StateFolder::new());
    let server = fake.server(None);
    log_in(&folder.log_ins(), &server).await;
    let credentials = credentials(&folder, &server);
    let all = join_all((0..50).map(|_| credentials.authorization())).await;
    assert!(all.into_iter().all(|outcome| text(outcome) == "Bearer access-2"));
    assert_eq!(renewals(&fake), 1);
    let record = folder.record();
    assert_eq!(
        (&record["tokens"]["refresh_token"], &record["granted_scopes"][0]),
        (&json!("refresh-2"), &json!("read"))
    );
    let asked = fake.asked_for("POST /token").remove(1).form();
    assert_eq!((asked["resource"].as_str(), asked.get("scope")), (fake.origin.as_str(), None));
}

#[tokio::test]
async fn five_processes_renew_once_and_nobody_loses_the_log_in() {
    let ((fake, state), folder) = (rotating().await, StateFolder::new());
    let server = fake.server(None);
    log_in(&folder.log_ins(), &server).await;
    let processes: Vec<_> = (0..5).map(|_| credentials(&folder, &server)).collect();
    // All of them have read the old record before any of them renews it.
    let all = join_all(processes.iter().map(|credentials| credentials.authorization())).await;
    assert!(all.into_iter().all(|outcome| text(outcome) == "Bearer access-2"));
    assert_eq!((renewals(&fake), state.lock().reused), (1, false));
}

#[tokio::test]
async fn a_call_that_is_cancelled_does_not_stop_the_renewal() {
    let ((fake, _), folder) = (rotating().await, StateFolder::new());
    let (log_ins, server) = (folder.log_ins(), fake.server(None));
    log_in(&log_ins, &server).await;
    let credentials = log_ins.credentials("a", &server).unwrap();
    let call = tokio::spawn(async move { credentials.authorization().await });
    while renewals(&fake) == 0 {
        tokio::task::yield_now().await;
    }
    call.abort();
    log_ins.drain().await;
    assert_eq!(folder.record()["tokens"]["refresh_token"], "refresh-2");
}

#[tokio::test]
async fn errors_of_the_network_keep_everything() {
    for (status, body) in
        [(500, json!({"error": "invalid_grant"})), (0, Value::Null), (429, Value::Null), (200, json!({}))]
    {
        let (fake, folder) = (Fake::with_metadata(|_| None).await, StateFolder::new());
        let first = Mutex::new(true);
        let answer = body.clone();
        let origin = fake.origin.clone();
        fake.answers(move |asked| match asked.line.as_str() {
            "GET /.well-known/oauth-authorization-server" => (200, super::fake::server_metadata(&origin)),
            "POST /register" => (201, json!({"client_id": "c", "redirect_uris": []})),
            "POST /token" if std::mem::take(&mut *first.lock()) => (200, tokens(1, 0)),
            "POST /token" => (status, answer.clone()),
            _ => (404, Value::Null),
        });
        let server = fake.server(None);
        log_in(&folder.log_ins(), &server).await;
        let credentials = credentials(&folder, &server);
        for _ in 0..3 {
            assert_eq!(text(credentials.authorization().await), "Bearer access-1", "the server decides");
        }
        assert_eq!(renewals(&fake), 1, "no storm");
        assert_eq!(folder.record()["tokens"]["refresh_token"], "refresh-1");
        assert!(folder.record()["last_error"].is_string());
        let refusal = AuthorizationRefusal {
            status: 401,
            challenges: vec!["Bearer".into()],
            shown: Some(HeaderValue::from_static("Bearer access-1")),
            is_repeated: false,
        };
        assert!(matches!(credentials.refused(refusal).await, Remedy::Later(_)), "{status}");
    }
}

#[tokio::test]
async fn a_log_in_that_is_no_longer_accepted_ends_and_its_client_stays() {
    let ((fake, state), folder) = (rotating().await, StateFolder::new());
    let server = fake.server(None);
    log_in(&folder.log_ins(), &server).await;
    state.lock().reused = true;
    let credentials = credentials(&folder, &server);
    let error = credentials.authorization().await.unwrap_err().to_string();
    assert!(error.contains("`invalid_grant`") && error.contains("run `proxy login a`"), "{error}");
    let record = folder.record();
    assert!(record["tokens"].is_null());
    assert_eq!(record["registration"]["client_id"], "client-1");
    fake.forget();
    assert!(credentials.authorization().await.is_err(), "and nothing is sent again");
    assert!(fake.lines().is_empty());
    assert!(self::credentials(&folder, &server).authorization().await.is_err(), "nor by another process");
}

#[tokio::test]
async fn an_answer_without_a_refresh_token_keeps_the_old_one() {
    let fake = Fake::with_metadata(|asked| {
        let form = (asked.line == "POST /token").then(|| asked.form())?;
        Some((
            200,
            match form.get("refresh_token") {
                Some(_) => json!({"access_token": "access-2", "token_type": "bearer", "scope": "less"}),
                None => tokens(1, 0),
            },
        ))
    })
    .await;
    let (folder, server) = (StateFolder::new(), fake.server(None));
    log_in(&folder.log_ins(), &server).await;
    assert_eq!(text(credentials(&folder, &server).authorization().await), "Bearer access-2");
    let record = folder.record();
    assert_eq!(record["tokens"]["refresh_token"], "refresh-1");
    assert_eq!((&record["granted_scopes"], &record["tokens"]["expires_at"]), (&json!(["less"]), &Value::Null));
}

#[tokio::test]
async fn tokens_that_cannot_be_saved_are_used_all_the_same() {
    let ((fake, state), folder) = (rotating().await, StateFolder::new());
    let server = fake.server(Some(OAuthConfig { resource: ResourceChoice::None, ..OAuthConfig::default() }));
    log_in(&folder.log_ins(), &server).await;
    // A folder under the name of the temporary file: even root cannot write there.
    let files = std::fs::read_dir(folder.0.join("credentials")).unwrap().flatten();
    let record = files.map(|file| file.path()).find(|path| path.extension().is_some_and(|end| end == "json")).unwrap();
    std::fs::create_dir(record.with_extension("tmp")).unwrap();
    std::fs::write(record.with_extension("tmp").join("x"), "").unwrap();
    let credentials = credentials(&folder, &server);
    assert_eq!(text(credentials.authorization().await), "Bearer access-2");
    assert_eq!(folder.record()["tokens"]["refresh_token"], "refresh-1", "it could not be saved");
    let refusal = |shown| AuthorizationRefusal {
        status: 401,
        challenges: vec!["Bearer".into()],
        shown: Some(HeaderValue::from_static(shown)),
        is_repeated: false,
    };
    assert_eq!(credentials.refused(refusal("Bearer access-2")).await, Remedy::Retry);
    assert_eq!(text(credentials.authorization().await), "Bearer access-3", "the file is not taken for news");
    assert!(!state.lock().reused);
    assert!(fake.asked_for("POST /token").iter().all(|asked| !asked.form().contains_key("resource")));
}
