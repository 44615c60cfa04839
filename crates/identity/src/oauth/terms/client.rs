//! A client at an authorization server.

use serde::{Deserialize, Serialize};

use crate::client_form::ClientAuth;
use crate::oauth::ClientKind;
use crate::oauth::terms::secret_fields::optional_secret;
use crate::oauth::unix_time::now;
use proxy_model::Secret;

/// A client at the authorization server of its record, and at no other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Registration {
    pub(crate) kind: ClientKind,
    pub(crate) client_id: String,
    #[serde(with = "optional_secret")]
    pub(crate) client_secret: Option<Secret>,
    pub(crate) method: AuthMethod,
    /// The one of this log-in.
    pub(crate) redirect_uri: String,
    /// The others that are registered with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) more_redirect_uris: Vec<String>,
    /// In seconds since 1970.
    pub(crate) secret_expires_at: Option<u64>,
}

impl Registration {
    pub(crate) fn is_expired(&self) -> bool {
        self.secret_expires_at.is_some_and(|end| end <= now())
    }

    pub(crate) fn redirect_uris(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.redirect_uri).chain(&self.more_redirect_uris).map(String::as_str)
    }

    /// The same client for a log-in that comes back to another of its redirect URIs; `None` if it is not registered.
    pub(crate) fn coming_back_to(&self, uri: &str) -> Option<Self> {
        let (own, others): (Vec<&str>, Vec<&str>) = self.redirect_uris().partition(|known| *known == uri);
        let more_redirect_uris = others.into_iter().map(str::to_owned).collect();
        own.first().map(|own| Registration { redirect_uri: (*own).to_owned(), more_redirect_uris, ..self.clone() })
    }

    pub(crate) fn auth(&self, method: AuthMethod) -> ClientAuth<'_> {
        method.auth(&self.client_id, self.client_secret.as_ref())
    }
}

/// How a client authenticates at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AuthMethod {
    #[serde(rename = "none")]
    None,
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
}

impl AuthMethod {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            AuthMethod::None => "none",
            AuthMethod::Basic => "client_secret_basic",
            AuthMethod::Post => "client_secret_post",
        }
    }

    /// How a client authenticates by this method. Without a secret it only says who it is.
    pub(crate) fn auth<'a>(self, id: &'a str, secret: Option<&'a Secret>) -> ClientAuth<'a> {
        match (secret, self) {
            (Some(secret), AuthMethod::Basic) => ClientAuth::Basic { id, secret },
            (Some(secret), AuthMethod::Post) => ClientAuth::Post { id, secret },
            _ => ClientAuth::Public { id },
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [AuthMethod::None, AuthMethod::Basic, AuthMethod::Post].into_iter().find(|method| method.as_str() == text)
    }
}
