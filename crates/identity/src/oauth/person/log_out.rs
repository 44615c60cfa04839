//! Ends a log-in: revokes its tokens (RFC 7009) and deletes them.

use std::sync::Arc;

use url::Url;

use super::person_log_in::PersonLogIn;
use crate::client_form::{ClientAuth, form};
use crate::oauth::storage::LogInRecord;
use crate::oauth::subject::reach;
use crate::oauth::{ClientKind, LogInError, LogOutReport};
use proxy_wire::http::Reach;

pub(crate) async fn log_out(log_in: &Arc<PersonLogIn>, forget_client: bool) -> Result<LogOutReport, LogInError> {
    // No renewal may begin between the revocation and the end of the record.
    let lock = log_in.storage.lock(&log_in.key).await?;
    let Some(record) = log_in.stored().await? else { return Ok(LogOutReport::default()) };
    let mut report = LogOutReport { was_logged_in: record.tokens.is_some(), ..LogOutReport::default() };
    revoke_all(log_in, &record, &mut report).await;
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
