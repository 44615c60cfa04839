//! Checks the head of a request. Other web pages open in the same browser can send requests to any port, and a hostile
//! host name can resolve to this machine (DNS rebinding).

use http::header::{self, HeaderMap};
use http::request::Parts;
use http::{Method, StatusCode};

use super::page_tokens::PageTokens;
use proxy_wire::http::{Guard, GuardError};

/// The path prefix of all API requests.
pub(super) const API: &str = "/api/";
/// The only request of the API without a token.
pub(super) const SESSION: &str = "/api/session";

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestRefusal {
    #[error("unknown host in the `Host` header: open the address that `proxy console` printed")]
    Host,
    #[error("the request has more than one `Host` header")]
    SeveralHosts,
    #[error("the `Host` header and the authority of the request differ")]
    Authority,
    #[error("another web page sent this request (`Origin`)")]
    Origin,
    #[error("another web page opened this address (`Sec-Fetch-Site`): open the address that `proxy console` printed")]
    Site,
    #[error("method not allowed for this path")]
    Method,
    #[error("the `Content-Type` header must be `application/json`")]
    ContentType,
    #[error("the `Authorization` header has no valid token")]
    Token,
}

impl RequestRefusal {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            RequestRefusal::SeveralHosts | RequestRefusal::Authority => StatusCode::BAD_REQUEST,
            RequestRefusal::Host | RequestRefusal::Origin | RequestRefusal::Site => StatusCode::FORBIDDEN,
            RequestRefusal::Method => StatusCode::METHOD_NOT_ALLOWED,
            RequestRefusal::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            RequestRefusal::Token => StatusCode::UNAUTHORIZED,
        }
    }
}

/// Checks where a request comes from, its form, and its token.
pub(super) fn check(guard: &Guard, tokens: &PageTokens, head: &Parts) -> Result<(), RequestRefusal> {
    guard.check(&head.uri, &head.headers).map_err(|error| match error {
        GuardError::Host => RequestRefusal::Host,
        GuardError::SeveralHosts => RequestRefusal::SeveralHosts,
        GuardError::Authority => RequestRefusal::Authority,
        GuardError::Origin => RequestRefusal::Origin,
    })?;
    // Browsers send this header, and no page can change it. `none`: the user typed the address or opened a bookmark.
    let mut sites = head.headers.get_all("sec-fetch-site").iter();
    if !sites.all(|site| site == "same-origin" || site == "none") {
        return Err(RequestRefusal::Site);
    }
    let (path, reads) = (head.uri.path(), [Method::GET, Method::HEAD].contains(&head.method));
    if !path.starts_with(API) {
        return if reads { Ok(()) } else { Err(RequestRefusal::Method) };
    }
    // A form on another page cannot send this type without a CORS preflight, which is refused.
    if !reads && !is_json(&head.headers) {
        return Err(RequestRefusal::ContentType);
    }
    if path != SESSION && !bearer(&head.headers).is_some_and(|token| tokens.is_token(token)) {
        return Err(RequestRefusal::Token);
    }
    Ok(())
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn a_request_is_of_the_page_itself_and_brings_a_token() {
        let guard = Guard::new("127.0.0.1:80".parse().unwrap(), &[]);
        let tokens = PageTokens::default();
        let token = format!("Bearer {}", tokens.redeem(&tokens.new_code().unwrap()).unwrap());
        let verdict = |method: &str, path: &str, headers: &[(&str, &str)]| {
            let mut request = Request::builder().method(method).uri(path).header("host", "127.0.0.1:80");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            check(&guard, &tokens, &request.body(()).unwrap().into_parts().0)
        };
        let (own, json) = (("authorization", token.as_str()), ("content-type", "application/json; charset=utf-8"));
        assert_eq!(verdict("GET", "/", &[("sec-fetch-site", "none")]), Ok(()));
        assert_eq!(verdict("GET", "/x.js", &[("sec-fetch-site", "same-origin")]), Ok(()));
        for other in ["cross-site", "same-site", ""] {
            let site = ("sec-fetch-site", other);
            assert_eq!(verdict("GET", "/", &[site]), Err(RequestRefusal::Site));
            assert_eq!(verdict("GET", "/api/status", &[own, site]), Err(RequestRefusal::Site));
            assert_eq!(verdict("GET", "/", &[("sec-fetch-site", "none"), site]), Err(RequestRefusal::Site));
        }
        assert_eq!(verdict("POST", "/", &[json]), Err(RequestRefusal::Method));
        assert_eq!(verdict("GET", "/", &[("origin", "http://127.0.0.1:81")]), Err(RequestRefusal::Origin));
        assert_eq!(verdict("GET", "/", &[("origin", "null")]), Err(RequestRefusal::Origin));
        assert_eq!(verdict("GET", "/", &[("host", "127.0.0.1:80")]), Err(RequestRefusal::SeveralHosts), "twice");
        assert_eq!(verdict("GET", "/api/status", &[]), Err(RequestRefusal::Token));
        assert_eq!(verdict("GET", "/api/status", &[("authorization", "Bearer ")]), Err(RequestRefusal::Token));
        assert_eq!(verdict("GET", "/api/status", &[own]), Ok(()));
        assert_eq!(verdict("POST", "/api/call", &[own]), Err(RequestRefusal::ContentType));
        let form = ("content-type", "application/x-www-form-urlencoded");
        assert_eq!(verdict("DELETE", "/api/call", &[own, form]), Err(RequestRefusal::ContentType));
        assert_eq!(verdict("POST", "/api/call", &[json]), Err(RequestRefusal::Token));
        assert_eq!(verdict("POST", "/api/call", &[own, json]), Ok(()));
        assert_eq!(verdict("POST", "/api/session", &[json]), Ok(()));
        assert_eq!(verdict("POST", "/api/session", &[]), Err(RequestRefusal::ContentType));
        assert_eq!(verdict("POST", "/api/session/", &[json]), Err(RequestRefusal::Token));
    }
}
