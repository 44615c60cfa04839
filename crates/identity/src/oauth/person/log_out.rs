//! Ends a log-in: revokes its tokens (RFC 7009), which rmcp cannot, and deletes them.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::person_log_in::PersonLogIn;
use crate::oauth::storage::LogInRecord;
use crate::oauth::subject::reach;
use crate::oauth::terms::{AuthMethod, Registration};
use crate::oauth::{ClientKind, LogInError, LogOutReport};
use proxy_model::Secret;
use proxy_wire::http::{Fetcher, Reach};

pub(crate) async fn log_out(log_in: &Arc<PersonLogIn>, forget_client: bool) -> Result<LogOutReport, LogInError> {
    // No renewal may begin between the revocation and the end of the record.
    let lock = log_in.storage.lock(&log_in.key).await?;
    let Some(record) = log_in.stored().await? else { return Ok(LogOutReport::default()) };
    let mut report = LogOutReport { was_logged_in: record.tokens.is_some(), ..LogOutReport::default() };
    revoke_all(log_in, &record, &mut report).await;
    let registration = record.registration.clone().filter(|client| client.kind == ClientKind::Registered);
    report.forgot_client = forget_client && registration.is_some();
    let kept = registration.filter(|_| !forget_client).map(|client| LogInRecord {
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
        report
            .problems
            .push("the authorization server has no way to revoke tokens: they stay valid until they expire".into());
        return;
    };
    let Ok(url) = Url::parse(&record.server_url) else { return };
    let reach = reach(&url, log_in.issuer.as_deref()).await;
    let methods = record.authorization_server.revocation_methods(client.method);
    let tokens = [
        ("refresh token", "refresh_token", tokens.refresh_token.as_ref()),
        ("access token", "access_token", Some(&tokens.access_token)),
    ];
    for (name, hint, token) in tokens {
        let Some(token) = token else { continue };
        let revocation = Revocation { endpoint, client, token, hint };
        match revocation.send(&log_in.fetcher, reach, &methods).await {
            Ok(()) => report.revoked.push(name),
            Err(reason) => report.problems.push(format!("the {name} could not be revoked: {reason}")),
        }
    }
}

/// The request to revoke one token.
struct Revocation<'a> {
    endpoint: &'a str,
    client: &'a Registration,
    token: &'a Secret,
    hint: &'a str,
}

impl Revocation<'_> {
    /// Tries one way to authenticate after the other, while the answer is that of somebody who does not know the client.
    async fn send(&self, fetcher: &Fetcher, reach: Reach, methods: &[AuthMethod]) -> Result<(), String> {
        let mut refused = "there is no way to authenticate".to_owned();
        for method in methods {
            let request = self.request(*method).ok_or_else(|| "its endpoint is not a valid URL".to_owned())?;
            let answer = fetcher.fetch(reach, request).await.map_err(|error| error.to_string())?;
            match answer.status().as_u16() {
                200..300 => return Ok(()),
                status @ (400 | 401) => refused = format!("HTTP {status}"),
                status => return Err(format!("HTTP {status}")),
            }
        }
        Err(refused)
    }

    fn request(&self, method: AuthMethod) -> Option<Request<Vec<u8>>> {
        let client = self.client;
        let mut form = Serializer::new(String::new());
        form.append_pair("token", self.token.reveal()).append_pair("token_type_hint", self.hint);
        let mut request = Request::post(self.endpoint)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json");
        match (&client.client_secret, method) {
            (Some(secret), AuthMethod::Basic) => {
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let both = format!("{}:{}", encoded(&client.client_id), encoded(secret.reveal()));
                request = request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(both)));
            }
            (Some(secret), AuthMethod::Post) => {
                form.append_pair("client_id", &client.client_id).append_pair("client_secret", secret.reveal());
            }
            _ => {
                form.append_pair("client_id", &client.client_id);
            }
        }
        request.body(form.finish().into_bytes()).ok()
    }
}
