//! The request for an exchange (RFC 8693, 2).

use std::time::Duration;

use http::{HeaderValue, Request};
use serde_json::Value;
use url::Url;

use crate::client_form::form;
use crate::oauth::terms::{AuthMethod, bearer};
use proxy_config::{RegisteredClient, TokenExchangeConfig};
use proxy_model::Secret;
use proxy_wire::http::{Fetcher, Reach};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

/// What a token endpoint has given.
pub(super) struct Exchanged {
    pub(super) header: HeaderValue,
    pub(super) expires_in: Option<Duration>,
}

/// Exchanges a token.
///
/// # Errors
/// Why there is no token, in words that are safe to show: the error code, but never a description or a body.
pub(super) async fn exchange(
    fetcher: &Fetcher,
    config: &TokenExchangeConfig,
    resource: Option<&str>,
    subject: &Secret,
) -> Result<Exchanged, String> {
    let url = Url::parse(&config.token_url).map_err(|_| "`tokenUrl` is not a valid URL".to_owned())?;
    let request = request(config, resource, subject).ok_or_else(|| "`tokenUrl` is not a valid URL".to_owned())?;
    // The config names it, so it may be in any network.
    let response = fetcher.fetch(Reach::of(&url).await, request).await;
    let response = response.map_err(|error| format!("no response from the token endpoint: {error}"))?;
    let document: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    let status = response.status();
    if !status.is_success() {
        let code = document.get("error").and_then(Value::as_str).filter(|code| is_code(code));
        return Err(match code {
            Some(code) => format!("the token endpoint says `{code}`"),
            None => format!("the token endpoint answered with HTTP {}", status.as_u16()),
        });
    }
    exchanged(&document).ok_or_else(|| "the token endpoint sent an invalid response".to_owned())
}

fn request(config: &TokenExchangeConfig, resource: Option<&str>, subject: &Secret) -> Option<Request<Vec<u8>>> {
    let RegisteredClient { id, secret } = &config.client;
    let scopes = config.scopes.join(" ");
    let mut fields = vec![
        ("grant_type", GRANT),
        ("subject_token", subject.reveal()),
        ("subject_token_type", config.subject_token_type.urn()),
        ("requested_token_type", ACCESS_TOKEN),
    ];
    fields.extend(config.audience.as_deref().map(|audience| ("audience", audience)));
    fields.extend(resource.map(|resource| ("resource", resource)));
    if !scopes.is_empty() {
        fields.push(("scope", &scopes));
    }
    form(&config.token_url, AuthMethod::Basic.auth(id, secret.as_ref()), &fields)
}

/// A token that can be shown as a bearer token. Another kind, such as an assertion or a refresh token, is for somebody else.
fn exchanged(document: &Value) -> Option<Exchanged> {
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    let is_bearer = text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
    let is_access_token = text("issued_token_type").is_none_or(|issued| issued == ACCESS_TOKEN || issued == JWT);
    let token = text("access_token").filter(|token| !token.is_empty() && is_bearer && is_access_token)?;
    let lifetime = document.get("expires_in");
    let lifetime = lifetime.and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()));
    Some(Exchanged { header: bearer(&Secret::new(token))?, expires_in: lifetime.map(Duration::from_secs) })
}

/// Whether it is a registered error code of a token endpoint (RFC 6749, 5.2; RFC 8693, 2.2.2; OpenID Connect). Another text might
/// be anything, even the token.
fn is_code(text: &str) -> bool {
    const CODES: [&str; 14] = [
        "access_denied",
        "consent_required",
        "insufficient_scope",
        "interaction_required",
        "invalid_client",
        "invalid_grant",
        "invalid_request",
        "invalid_scope",
        "invalid_target",
        "login_required",
        "server_error",
        "temporarily_unavailable",
        "unauthorized_client",
        "unsupported_grant_type",
    ];
    CODES.contains(&text)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use http::header::AUTHORIZATION;
    use serde_json::json;

    use super::*;
    use proxy_config::{ResourceChoice, SubjectTokenType};

    fn config(secret: Option<&str>) -> TokenExchangeConfig {
        TokenExchangeConfig {
            token_url: "https://as/token".to_owned(),
            client: RegisteredClient { id: "the proxy".to_owned(), secret: secret.map(Secret::new) },
            audience: Some("api".to_owned()),
            resource: ResourceChoice::Auto,
            scopes: vec!["read".to_owned(), "write".to_owned()],
            subject_token_type: SubjectTokenType::AccessToken,
            subject_issuer: None,
        }
    }

    #[test]
    fn a_request_is_that_of_rfc_8693() {
        let sent = request(&config(Some("s+/")), None, &Secret::new("subject")).unwrap();
        assert_eq!(sent.headers()[AUTHORIZATION], format!("Basic {}", STANDARD.encode("the+proxy:s%2B%2F")));
        assert_eq!(
            String::from_utf8(sent.into_body()).unwrap(),
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=subject\
             &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token\
             &requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token\
             &audience=api&scope=read+write"
        );
        let public = request(&config(None), Some("https://h/mcp"), &Secret::new("subject")).unwrap();
        assert!(public.headers().get(AUTHORIZATION).is_none());
        let body = String::from_utf8(public.into_body()).unwrap();
        assert!(body.contains("&resource=https%3A%2F%2Fh%2Fmcp&") && body.ends_with("&client_id=the+proxy"), "{body}");
    }

    #[test]
    fn only_a_bearer_token_is_used() {
        let good =
            json!({"access_token": "t", "token_type": "Bearer", "issued_token_type": ACCESS_TOKEN, "expires_in": 60});
        let used = exchanged(&good).unwrap();
        assert_eq!((used.header.to_str().unwrap(), used.expires_in), ("Bearer t", Some(Duration::from_secs(60))));
        for (name, value) in [
            ("access_token", json!("")),
            ("access_token", json!("a\nb")),
            ("token_type", json!("N_A")),
            ("issued_token_type", json!("urn:ietf:params:oauth:token-type:refresh_token")),
        ] {
            let mut other = good.clone();
            other[name] = value;
            assert!(exchanged(&other).is_none(), "{other}");
        }
    }
}
