//! The form that an OAuth client posts to an authorization server, with its client authentication.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use proxy_model::Secret;

/// How a client authenticates.
#[derive(Clone, Copy)]
pub(crate) enum ClientAuth<'a> {
    Public {
        id: &'a str,
    },
    Basic {
        id: &'a str,
        secret: &'a Secret,
    },
    Post {
        id: &'a str,
        secret: &'a Secret,
    },
    /// A signed assertion, which identifies the client; there is no `client_id` (RFC 7523, 3).
    Assertion(&'a Secret),
}

impl ClientAuth<'_> {
    /// The secret, to be masked in output.
    pub(crate) fn secret(&self) -> Option<&Secret> {
        match self {
            ClientAuth::Public { .. } => None,
            ClientAuth::Basic { secret, .. } | ClientAuth::Post { secret, .. } | ClientAuth::Assertion(secret) => {
                Some(secret)
            }
        }
    }
}

/// A request with these fields; `None` if the URL is invalid.
pub(crate) fn form(url: &str, client: ClientAuth<'_>, fields: &[(&str, &str)]) -> Option<Request<Vec<u8>>> {
    // The host of a URL need not be ASCII; that of a request must be.
    let url = Url::parse(url).ok()?;
    let mut form = Serializer::new(String::new());
    form.extend_pairs(fields);
    let mut request = Request::post(url.as_str())
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    match client {
        ClientAuth::Public { id } => {
            form.append_pair("client_id", id);
        }
        ClientAuth::Basic { id, secret } => request = request.header(AUTHORIZATION, basic(id, secret)?),
        ClientAuth::Post { id, secret } => {
            form.append_pair("client_id", id).append_pair("client_secret", secret.reveal());
        }
        ClientAuth::Assertion(assertion) => {
            form.append_pair("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
                .append_pair("client_assertion", assertion.reveal());
        }
    }
    request.body(form.finish().into_bytes()).ok()
}

/// HTTP Basic as OAuth wants it: both parts encoded as in a form (RFC 6749, 2.3.1).
fn basic(id: &str, secret: &Secret) -> Option<HeaderValue> {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let both = format!("{}:{}", encoded(id), encoded(secret.reveal()));
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(both))).ok()?;
    value.set_sensitive(true);
    Some(value)
}
