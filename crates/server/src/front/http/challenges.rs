//! The answers to requests that are not admitted: who asks how to get a token is told (RFC 6750, RFC 9728).

use std::time::Duration;

use ::http::header::{HOST, RETRY_AFTER, WWW_AUTHENTICATE};
use ::http::{HeaderMap, HeaderValue, StatusCode};

use crate::front::authenticator::{AuthFailure, Authenticator};
use proxy_config::is_profile_name;
use proxy_identity::bearer::Resource;
use proxy_model::ScopeRules;
use proxy_wire::http::HttpReply;
use proxy_wire::{Id, RpcError, encode};

/// What challenges say about this proxy.
#[derive(Clone, Debug)]
pub(super) struct Challenges {
    /// Where clients find the issuers; `None` if there are none, and a client cannot get a token by itself.
    metadata_url: Option<String>,
    required_scopes: Vec<String>,
    /// The name of the profile in the path; empty at the top level.
    profile: String,
}

impl Challenges {
    /// For the request with these headers for a profile.
    pub(super) fn new(authenticator: &Authenticator, resource: &Resource, headers: &HeaderMap, profile: &str) -> Self {
        let metadata_url = || resource.metadata_url(host(headers), profile);
        Challenges {
            metadata_url: (!authenticator.authentication.issuers.is_empty()).then(metadata_url),
            required_scopes: authenticator.required_scopes(profile),
            profile: profile.to_owned(),
        }
    }

    pub(super) fn reply(&self, failure: &AuthFailure) -> HttpReply {
        let refuse = |status, text: &str| HttpReply::refusal(status, &RpcError::invalid_request(text));
        let required = self.required_scopes.as_slice();
        match failure {
            AuthFailure::NoToken => refuse(StatusCode::UNAUTHORIZED, "a bearer token is required")
                .with_header(WWW_AUTHENTICATE, self.header(None, required)),
            AuthFailure::Malformed(why) => refuse(StatusCode::BAD_REQUEST, why)
                .with_header(WWW_AUTHENTICATE, self.header(Some(("invalid_request", why)), required)),
            AuthFailure::Invalid(why) => refuse(StatusCode::UNAUTHORIZED, why)
                .with_header(WWW_AUTHENTICATE, self.header(Some(("invalid_token", why)), required)),
            AuthFailure::LacksRequiredScope => self.lacking_scopes(None, required),
            AuthFailure::NoProfile => no_profile(&self.profile),
            AuthFailure::Unavailable(wait) => {
                let error = RpcError::internal("the token cannot be checked now, because its issuer is not responding");
                HttpReply::refusal(StatusCode::SERVICE_UNAVAILABLE, &error)
                    .with_header(RETRY_AFTER, wait.as_secs().max(1).into())
            }
        }
    }

    /// The answer to a request that needs scopes which its token lacks: all that it needs, at once.
    pub(super) fn lacking_scopes(&self, id: Option<&Id>, needed: &[String]) -> HttpReply {
        let scopes = self.with_required(needed);
        let why = ScopeRules::refusal(&scopes);
        let body = encode::error(id, &RpcError::invalid_request(&why));
        let header = self.header(Some(("insufficient_scope", "the token lacks a required scope")), &scopes);
        HttpReply::json(StatusCode::FORBIDDEN, body).with_header(WWW_AUTHENTICATE, header)
    }

    /// The answer to an anonymous request for something that needs scopes.
    pub(super) fn anonymous(&self, id: Option<&Id>, needed: &[String]) -> HttpReply {
        let body = encode::error(id, &RpcError::invalid_request("this request requires a bearer token"));
        let header = self.header(None, &self.with_required(needed));
        HttpReply::json(StatusCode::UNAUTHORIZED, body).with_header(WWW_AUTHENTICATE, header)
    }

    fn with_required(&self, needed: &[String]) -> Vec<String> {
        let more = needed.iter().filter(|scope| !self.required_scopes.contains(scope));
        self.required_scopes.iter().chain(more).cloned().collect()
    }

    /// All texts are of the config or of this program, and none has a quote.
    fn header(&self, error: Option<(&str, &str)>, scopes: &[String]) -> HeaderValue {
        let mut parameters = Vec::new();
        if let Some((code, description)) = error {
            parameters.push(format!("error=\"{code}\""));
            parameters.push(format!("error_description=\"{description}\""));
        }
        if !scopes.is_empty() {
            parameters.push(format!("scope=\"{}\"", scopes.join(" ")));
        }
        if let Some(url) = &self.metadata_url {
            parameters.push(format!("resource_metadata=\"{url}\""));
        }
        let text =
            if parameters.is_empty() { "Bearer".to_owned() } else { format!("Bearer {}", parameters.join(", ")) };
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("Bearer"))
    }
}

/// The answer to a request without a valid token from an address that has sent many of them.
pub(super) fn too_many_failures(wait: Duration) -> HttpReply {
    let error = RpcError::invalid_request("too many requests without a valid bearer token; try again later");
    HttpReply::refusal(StatusCode::TOO_MANY_REQUESTS, &error).with_header(RETRY_AFTER, wait.as_secs().into())
}

/// The answer to a request for a profile that does not exist, or not for this caller.
pub(super) fn no_profile(named: &str) -> HttpReply {
    if named.is_empty() {
        let error = RpcError::invalid_request("this URL serves nothing itself: add the name of a profile to its path");
        return HttpReply::refusal(StatusCode::NOT_FOUND, &error);
    }
    // A text that cannot be a name is not shown.
    if !is_profile_name(named) {
        return HttpReply::empty(StatusCode::NOT_FOUND);
    }
    HttpReply::refusal(StatusCode::NOT_FOUND, &RpcError::invalid_request(&format!("no profile `{named}`")))
}

/// The host that a request names. The listener has checked it.
pub(super) fn host(headers: &HeaderMap) -> Option<&str> {
    headers.get(HOST)?.to_str().ok()
}
