//! Asks an issuer about a token that only it can read (RFC 7662).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use serde_json::{Map, Value};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::error::TokenError;
use proxy_config::{Introspection, IssuerConfig};
use proxy_wire::http::{Fetcher, Reach};

const TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// The claims of an active token.
pub(super) async fn introspect(
    fetcher: &Fetcher,
    issuer: &IssuerConfig,
    settings: &Introspection,
    token: &str,
) -> Result<Map<String, Value>, TokenError> {
    let unavailable = |reason: &str| {
        tracing::warn!("issuer `{}`: its introspection endpoint cannot be used: {reason}", issuer.issuer);
        TokenError::Unavailable { retry_after: RETRY_AFTER }
    };
    let url = Url::parse(&settings.url).map_err(|error| unavailable(&error.to_string()))?;
    let body = Serializer::new(String::new())
        .append_pair("token", token)
        .append_pair("token_type_hint", "access_token")
        .finish();
    let request = Request::post(url.as_str())
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(AUTHORIZATION, basic(&settings.client_id, settings.client_secret.reveal()))
        .body(body.into_bytes());
    let request = request.map_err(|error| unavailable(&error.to_string()))?;
    let reach = Reach::of(&url).await;
    let response = match tokio::time::timeout(TIMEOUT, fetcher.fetch(reach, request)).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(unavailable(&error.to_string())),
        Err(_) => return Err(unavailable(&format!("no complete response within {} s", TIMEOUT.as_secs()))),
    };
    match response.status().as_u16() {
        200 => {}
        401 | 403 => return Err(unavailable("it does not accept `clientId` and `clientSecret`")),
        status => return Err(unavailable(&format!("HTTP {status}"))),
    }
    let claims: Map<String, Value> =
        serde_json::from_slice(response.body()).map_err(|_| unavailable("its answer is no JSON object"))?;
    match claims.get("active") {
        Some(Value::Bool(true)) if is_for_renewal(&claims) => {
            Err(TokenError::Invalid("the token is one to get other tokens with"))
        }
        Some(Value::Bool(true)) => Ok(claims),
        Some(Value::Bool(false)) => Err(TokenError::Invalid("the token is not active")),
        _ => Err(unavailable("its answer does not say whether the token is active")),
    }
}

/// Whether an issuer says that it is a refresh token: `token_type` as RFC 7662 has it, or `typ` as Keycloak writes.
fn is_for_renewal(claims: &Map<String, Value>) -> bool {
    let says = |name: &str, kinds: &[&str]| {
        let kind = claims.get(name).and_then(Value::as_str);
        kind.is_some_and(|kind| kinds.iter().any(|renewal| kind.eq_ignore_ascii_case(renewal)))
    };
    says("token_type", &["refresh_token"]) || says("typ", &["Refresh", "Offline"])
}

/// HTTP Basic as OAuth wants it: both parts encoded as in a form (RFC 6749, 2.3.1).
fn basic(id: &str, secret: &str) -> String {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret))))
}
