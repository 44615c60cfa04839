//! Ends a log-in: revokes its tokens (RFC 7009) and deletes them.

use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::person_log_in::PersonLogIn;
use crate::client_form::{ClientAuth, form};
use crate::oauth::storage::LogInRecord;
use crate::oauth::subject::reach;
use crate::oauth::{ClientKind, LogInError, LogOutReport};
use proxy_wire::http::Reach;

/// How long the revocation may take. The lock of the record ends later: a renewal that begins elsewhere meanwhile would store
/// a log-in again that is about to be deleted.
const REVOCATION_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) async fn log_out(log_in: &Arc<PersonLogIn>, forget_client: bool) -> Result<LogOutReport, LogInError> {
    log_out_within(REVOCATION_TIMEOUT, log_in, forget_client).await
}

async fn log_out_within(
    timeout: Duration,
    log_in: &Arc<PersonLogIn>,
    forget_client: bool,
) -> Result<LogOutReport, LogInError> {
    // No renewal may begin between the revocation and the end of the record.
    let lock = log_in.storage.lock(&log_in.key).await?;
    let Some(record) = log_in.stored().await? else { return Ok(LogOutReport::default()) };
    let mut report = LogOutReport { was_logged_in: record.tokens.is_some(), ..LogOutReport::default() };
    if tokio::time::timeout(timeout, revoke_all(log_in, &record, &mut report)).await.is_err() {
        report.problems.push(
            "the authorization server took too long: tokens that were not revoked stay valid until they expire".into(),
        );
    }
    let registration = record.registration.clone().filter(|client| client.kind == ClientKind::Registered);
    report.forgot_client = forget_client && registration.is_some();
    // The client with which a person logged in is that of the entry.
    let is_own = record.person.is_empty();
    report.forgot_client &= is_own;
    let kept = registration.filter(|_| is_own && !forget_client).map(|client| LogInRecord {
        registration: Some(client),
        ..LogInRecord::new(
            &record.entry,
            &record.server_url,
            record.authorization_server.clone(),
            record.resource.clone(),
        )
    });
    log_in.forget(&lock, kept).await?;
    Ok(report)
}

/// The refresh token first: with it, an access token could be had again.
async fn revoke_all(log_in: &PersonLogIn, record: &LogInRecord, report: &mut LogOutReport) {
    let Some(tokens) = &record.tokens else { return };
    let (Some(endpoint), Some(client)) = (&record.authorization_server.revocation_endpoint, &record.registration)
    else {
        report.problems.push(
            "the authorization server does not support revocation: the tokens stay valid until they expire".into(),
        );
        return;
    };
    let Ok(url) = Url::parse(&record.server_url) else { return };
    let reach = reach(&url, log_in.issuer.as_deref()).await;
    let methods = record.authorization_server.revocation_methods(client.method);
    let proofs: Vec<ClientAuth<'_>> = methods.into_iter().map(|method| client.auth(method)).collect();
    let tokens = [
        ("refresh token", "refresh_token", tokens.refresh_token.as_ref()),
        ("access token", "access_token", Some(&tokens.access_token)),
    ];
    for (name, hint, token) in tokens {
        let Some(token) = token else { continue };
        let fields = [("token", token.reveal()), ("token_type_hint", hint)];
        match revoke(log_in, reach, endpoint, &proofs, &fields).await {
            Ok(()) => report.revoked.push(name),
            Err(reason) => report.problems.push(format!("the {name} could not be revoked: {reason}")),
        }
    }
}

/// Tries one way to authenticate after the other, while the answer is that of somebody who does not know the client.
async fn revoke(
    log_in: &PersonLogIn,
    reach: Reach,
    endpoint: &str,
    proofs: &[ClientAuth<'_>],
    fields: &[(&str, &str)],
) -> Result<(), String> {
    let mut refused = "there is no way to authenticate".to_owned();
    for proof in proofs {
        let request = form(endpoint, *proof, fields).ok_or("its endpoint is not a valid URL")?;
        let answer = log_in.fetcher.fetch(reach, request).await.map_err(|error| error.to_string())?;
        match answer.status().as_u16() {
            200..300 => return Ok(()),
            status @ (400 | 401) => refused = format!("HTTP {status}"),
            status => return Err(format!("HTTP {status}")),
        }
    }
    Err(refused)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::oauth::storage::{LOCK_TTL, RecordKey, record};
    use crate::oauth::terms::AuthorizationServer;
    use crate::oauth::tests::fake::StateFolder;

    #[test]
    fn a_log_out_has_ended_before_its_lock_does() {
        assert!(REVOCATION_TIMEOUT + Duration::from_secs(5) < LOCK_TTL);
    }

    #[tokio::test]
    async fn a_log_out_does_not_wait_for_a_server_that_is_slow_to_revoke() {
        // Given an authorization server that takes connections and says nothing
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", silent.local_addr().unwrap());
        let metadata = json!({
            "issuer": origin, "token_endpoint": format!("{origin}/token"), "revocation_endpoint": format!("{origin}/revoke"),
        });
        let registration = json!({
            "kind": "registered", "client_id": "client-1", "client_secret": null, "method": "none",
            "redirect_uri": "http://127.0.0.1/callback", "secret_expires_at": null,
        });
        let record = LogInRecord {
            server_url: format!("{origin}/mcp"),
            authorization_server: AuthorizationServer::parse(&metadata).unwrap(),
            registration: Some(serde_json::from_value(registration).unwrap()),
            ..record()
        };
        let folder = StateFolder::new();
        let log_ins = folder.log_ins();
        let key = RecordKey::new("h", &record.server_url, None, None);
        let log_in = log_ins.table.at(&key, None);
        log_in.save(record).await.unwrap();
        // When somebody logs out
        let report = log_out_within(Duration::from_millis(100), &log_in, true).await.unwrap();
        // Then the record is gone, and what was not revoked is told
        assert!(report.was_logged_in && report.revoked.is_empty(), "{report:?}");
        assert!(matches!(report.problems.as_slice(), [told] if told.contains("took too long")), "{report:?}");
        assert!(folder.records().is_empty());
    }
}
