//! Token introspection (RFC 7662): asks an issuer about an opaque token.

use std::time::Duration;

use serde_json::{Map, Value};
use url::Url;

use super::error::TokenError;
use crate::client_form::{ClientAuth, form};
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
        tracing::warn!("issuer `{}`: token introspection failed: {reason}", issuer.issuer);
        TokenError::Unavailable { retry_after: RETRY_AFTER }
    };
    let url = Url::parse(&settings.url).map_err(|error| unavailable(&error.to_string()))?;
    let client = ClientAuth::Basic { id: &settings.client_id, secret: &settings.client_secret };
    let fields = [("token", token), ("token_type_hint", "access_token")];
    let request = form(url.as_str(), client, &fields).ok_or_else(|| unavailable("the URL is invalid"))?;
    let reach = Reach::of(&url).await;
    let response = match tokio::time::timeout(TIMEOUT, fetcher.fetch(reach, request)).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(unavailable(&error.to_string())),
        Err(_) => return Err(unavailable(&format!("no complete response within {} s", TIMEOUT.as_secs()))),
    };
    match response.status().as_u16() {
        200 => {}
        401 | 403 => return Err(unavailable("the issuer does not accept `clientId` and `clientSecret`")),
        status => return Err(unavailable(&format!("HTTP {status}"))),
    }
    let claims: Map<String, Value> =
        serde_json::from_slice(response.body()).map_err(|_| unavailable("the response is not a JSON object"))?;
    match claims.get("active") {
        Some(Value::Bool(true)) if is_for_renewal(&claims) => {
            Err(TokenError::Invalid("the token is a refresh token, not an access token"))
        }
        Some(Value::Bool(true)) => Ok(claims),
        Some(Value::Bool(false)) => Err(TokenError::Invalid("the token is not active")),
        _ => Err(unavailable("the response does not say whether the token is active")),
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
