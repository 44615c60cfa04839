//! The answers of the pages, and the headers that all of them have.

use std::sync::LazyLock;

use ::http::StatusCode;
use ::http::header::{self, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};

use super::flows::FlowError;
use super::html;
use proxy_identity::oauth::LogInError;
use proxy_wire::http::HttpReply;

/// Why a page shows something else than it should.
#[derive(Debug)]
pub(super) struct PageError {
    status: StatusCode,
    text: String,
}

impl PageError {
    /// The same for pages that do not exist, servers that are unknown, and servers that this person must not know.
    pub(super) const NOT_FOUND: PageError = PageError { status: StatusCode::NOT_FOUND, text: String::new() };

    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        PageError { status, text: text.into() }
    }

    /// The answer to a browser that has not begun what it wants to end. The code in its address stays unused.
    pub(super) fn another_browser() -> Self {
        PageError::new(
            StatusCode::BAD_REQUEST,
            "This log-in was started in another browser, or too long ago, or has ended already. Start again, in this \
             browser.",
        )
    }

    pub(super) fn too_many() -> Self {
        PageError::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests. Try again in a minute.")
    }

    pub(super) fn reply(self) -> HttpReply {
        let text = if self.status == StatusCode::NOT_FOUND { "There is no such page." } else { &self.text };
        let title = self.status.canonical_reason().unwrap_or("Error");
        let reply = HttpReply::page(self.status, html::page(title, &html::paragraph(text)));
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => reply.with_header(RETRY_AFTER, HeaderValue::from_static("10")),
            _ => reply,
        }
    }
}

impl From<FlowError> for PageError {
    fn from(error: FlowError) -> Self {
        match error {
            FlowError::TooMany => PageError::new(
                StatusCode::TOO_MANY_REQUESTS,
                "Too many log-ins have been started and not ended. Try again in ten minutes.",
            ),
            FlowError::Store(error) => {
                tracing::warn!(%error, "a page for log-ins could not use the store");
                PageError::new(StatusCode::SERVICE_UNAVAILABLE, "This does not work at the moment. Try again later.")
            }
            FlowError::Random => PageError::new(StatusCode::INTERNAL_SERVER_ERROR, "This does not work here."),
        }
    }
}

impl From<LogInError> for PageError {
    fn from(error: LogInError) -> Self {
        let status = match &error {
            LogInError::Callback(_) | LogInError::Refused(_) => StatusCode::BAD_REQUEST,
            LogInError::Unreachable(_) => StatusCode::BAD_GATEWAY,
            LogInError::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            LogInError::NotApplicable(_) => return PageError::NOT_FOUND,
            LogInError::Storage(problem) => {
                tracing::error!("a log-in could not be saved: {problem}");
                let text = "The log-in could not be saved. Tell the operator of this proxy.";
                return PageError::new(StatusCode::INTERNAL_SERVER_ERROR, text);
            }
            LogInError::Metadata(_) | LogInError::Registration(_) | LogInError::StepUp(_) => StatusCode::BAD_GATEWAY,
        };
        PageError::new(status, error.to_string())
    }
}

/// Tells the operator of a sign-in that failed: nobody else sees what the issuer said.
pub(super) fn not_signed_in(issuer: &str, error: &LogInError) {
    tracing::warn!(issuer, "somebody could not sign in: {error}");
}

/// Sends the browser to another address.
pub(super) fn see_other(address: &str) -> Result<HttpReply, PageError> {
    let location = HeaderValue::from_str(address)
        .map_err(|_| PageError::new(StatusCode::BAD_GATEWAY, "The address of the authorization server is invalid."))?;
    Ok(HttpReply::empty(StatusCode::SEE_OTHER).with_header(LOCATION, location))
}

/// There is no `form-action`: browsers apply it to every redirect after a form, and these lead to authorization servers.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let policy =
        format!("default-src 'none'; style-src '{}'; base-uri 'none'; frame-ancestors 'none'", html::style_digest());
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

static HEADERS: [(HeaderName, HeaderValue); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    // `no-referrer` would make browsers send `Origin: null` with forms.
    (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

pub(super) fn with_headers(mut reply: HttpReply) -> HttpReply {
    reply.headers.push((header::CONTENT_SECURITY_POLICY, POLICY.clone()));
    reply.headers.extend(HEADERS.iter().cloned());
    reply
}
