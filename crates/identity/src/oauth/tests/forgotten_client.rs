//! A client that the authorization server has forgotten: the next log-in registers another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::fake::{Fake, StateFolder, parameters, redirect, request, tokens};
use crate::oauth::{LogInError, LogIns, PendingLogIn};
use proxy_config::{OAuthConfig, PersonalAccounts, ServerConfig};
use proxy_model::{LoginNeeded, PersonKey, Principal, Who};

/// An authorization server that numbers its clients, whose tokens have expired when they are given. Clients up to the number
/// are forgotten.
async fn forgetful() -> (Fake, Arc<AtomicU64>) {
    refusing("invalid_client").await
}

/// The same, which says this of those clients.
async fn refusing(code: &'static str) -> (Fake, Arc<AtomicU64>) {
    let forgotten = Arc::new(AtomicU64::new(0));
    let registered = AtomicU64::new(0);
    let last_forgotten = Arc::clone(&forgotten);
    let fake = Fake::with_metadata(move |asked| match asked.line.as_str() {
        "POST /register" => {
            let number = registered.fetch_add(1, Ordering::Relaxed) + 1;
            Some((201, json!({"client_id": format!("client-{number}"), "redirect_uris": []})))
        }
        "POST /token" => {
            let number: u64 = asked.form()["client_id"].trim_start_matches("client-").parse().unwrap();
            let is_forgotten = number <= last_forgotten.load(Ordering::Relaxed);
            Some(if is_forgotten { (401, json!({"error": code})) } else { (200, tokens(number, 0)) })
        }
        "POST /revoke" => Some((200, Value::Null)),
        _ => None,
    })
    .await;
    (fake, forgotten)
}

fn personal(fake: &Fake) -> ServerConfig {
    let personal = Some(PersonalAccounts::default());
    fake.server(Some(OAuthConfig { personal, ..OAuthConfig::default() }))
}

fn who(name: &str) -> Who {
    Principal::named(name).who.clone()
}

async fn begin(log_ins: &LogIns, server: &ServerConfig, who: Option<&Who>) -> PendingLogIn {
    log_ins.begin("a", server, who, request()).await.unwrap()
}

/// The client with which this log-in begins.
fn client(pending: &PendingLogIn) -> String {
    parameters(pending)["client_id"].clone()
}

async fn finish(mut pending: PendingLogIn) -> Result<(), LogInError> {
    let redirect = redirect(&pending, "code");
    pending.finish(&redirect).await.map(drop)
}

async fn renew(log_ins: &LogIns, server: &ServerConfig, name: &str) -> Result<(), LoginNeeded> {
    let person = PersonKey::of(&Principal::named(name)).unwrap();
    let credentials = log_ins.of_people("a", server).unwrap().of(&person).unwrap();
    credentials.authorization().await.map(drop)
}

#[tokio::test]
async fn what_one_persons_renewal_tells_of_the_client_counts_for_all() {
    // Given two people who have logged in with the client of the entry
    let (fake, forgotten) = forgetful().await;
    let folder = StateFolder::new();
    let server = personal(&fake);
    let log_ins = folder.log_ins();
    for name in ["ann", "bob"] {
        finish(begin(&log_ins, &server, Some(&who(name))).await).await.unwrap();
    }
    assert_eq!(fake.asked_for("POST /register").len(), 1);
    // When the authorization server has forgotten it, and one renewal notices
    forgotten.store(1, Ordering::Relaxed);
    assert!(renew(&log_ins, &server, "ann").await.unwrap_err().to_string().contains("`invalid_client`"));
    // Then the next person logs in with another client
    let pending = begin(&log_ins, &server, Some(&who("eve"))).await;
    assert_eq!(client(&pending), "client-2");
    finish(pending).await.unwrap();
    // And a renewal that notices later takes nothing away from it
    assert!(renew(&log_ins, &server, "bob").await.is_err());
    assert_eq!(client(&begin(&log_ins, &server, Some(&who("bob"))).await), "client-2");
    assert_eq!(fake.asked_for("POST /register").len(), 2);
}

#[tokio::test]
async fn a_client_that_may_not_renew_for_one_person_stays_that_of_everybody() {
    // Given two people who have logged in with the client of the entry
    let (fake, refused) = refusing("unauthorized_client").await;
    let folder = StateFolder::new();
    let server = personal(&fake);
    let log_ins = folder.log_ins();
    for name in ["ann", "bob"] {
        finish(begin(&log_ins, &server, Some(&who(name))).await).await.unwrap();
    }
    // When the authorization server knows the client, and refuses its request
    refused.store(1, Ordering::Relaxed);
    assert!(renew(&log_ins, &server, "ann").await.unwrap_err().to_string().contains("`unauthorized_client`"));
    let told = finish(begin(&log_ins, &server, Some(&who("eve"))).await).await.unwrap_err();
    assert!(!told.to_string().contains("start again"), "{told}");
    // Then the client stays registered
    assert_eq!(client(&begin(&log_ins, &server, Some(&who("bob"))).await), "client-1");
    assert_eq!(fake.asked_for("POST /register").len(), 1);
}

#[tokio::test]
async fn a_log_in_with_a_forgotten_client_succeeds_the_second_time() {
    let ann = who("ann");
    for person in [Some(&ann), None] {
        let (fake, forgotten) = forgetful().await;
        let folder = StateFolder::new();
        let server = if person.is_some() { personal(&fake) } else { fake.server(None) };
        let log_ins = folder.log_ins();
        let pending = begin(&log_ins, &server, person).await;
        forgotten.store(1, Ordering::Relaxed);
        let told = finish(pending).await.unwrap_err();
        assert!(matches!(&told, LogInError::Refused(text) if text.contains("start again")), "{told}");
        let pending = begin(&log_ins, &server, person).await;
        assert_eq!(client(&pending), "client-2", "{person:?}");
        finish(pending).await.unwrap();
    }
}

#[tokio::test]
async fn an_operator_drops_the_client_of_everybody_and_nobody_is_logged_out() {
    let (fake, _) = forgetful().await;
    let folder = StateFolder::new();
    let server = personal(&fake);
    let log_ins = folder.log_ins();
    finish(begin(&log_ins, &server, Some(&who("ann"))).await).await.unwrap();
    let report = folder.log_ins().log_out("a", &server, Some(&who("bob")), false).await.unwrap();
    assert!(!report.forgot_client);
    assert_eq!(client(&begin(&log_ins, &server, Some(&who("bob"))).await), "client-1");
    let report = folder.log_ins().log_out("a", &server, Some(&who("bob")), true).await.unwrap();
    assert!(report.forgot_client && !report.was_logged_in, "{report:?}");
    assert_eq!(client(&begin(&log_ins, &server, Some(&who("bob"))).await), "client-2");
    assert!(log_ins.is_connected("a", &server, &who("ann")).await.unwrap());
}
