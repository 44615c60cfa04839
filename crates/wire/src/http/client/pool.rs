//! Which client a server is reached by. Servers on this machine need no TLS, no proxy and no compression, and are
//! reached by hyper's connections directly, which makes every call cheaper. All others are reached by `reqwest`.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Uri};

use super::answer::HttpResponse;
use super::local::{LocalResponse, LocalServer};
use super::{HttpError, SentHeaders};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Redirects are followed only within an origin, and only those that keep the method.
const MAX_REDIRECTS: usize = 5;

/// The connections to remote servers, shared by all of them. Made for the first such server: the system's certificates
/// are more than a hundred files to read.
#[derive(Clone, Debug, Default)]
pub struct HttpPool {
    remote: Arc<OnceLock<reqwest::Client>>,
}

/// How one server is reached.
#[derive(Clone, Debug)]
pub(super) enum Route {
    Remote(reqwest::Client, reqwest::Url),
    Local(Arc<LocalServer>, Uri),
}

impl HttpPool {
    fn remote(&self) -> Result<reqwest::Client, HttpError> {
        if let Some(made) = self.remote.get() {
            return Ok(made.clone());
        }
        let redirects = reqwest::redirect::Policy::custom(|attempt| {
            let same_origin = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
            let follow = same_origin && keeps_method(attempt.status()) && attempt.previous().len() <= MAX_REDIRECTS;
            if follow { attempt.follow() } else { attempt.stop() }
        });
        let made = reqwest::Client::builder()
            .redirect(redirects)
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .user_agent(proxy_base::PRODUCT)
            .build()?;
        Ok(self.remote.get_or_init(|| made).clone())
    }

    pub(super) fn route(&self, url: &str) -> Result<Route, HttpError> {
        let invalid = |error: &dyn std::fmt::Display| HttpError::Connect(format!("invalid URL: {error}"));
        let uri: Uri = url.parse().map_err(|error: http::uri::InvalidUri| invalid(&error))?;
        if uri.scheme_str() == Some("http") && uri.host().is_some_and(is_loopback_host) {
            return Ok(Route::Local(LocalServer::new(&uri), uri));
        }
        let url = reqwest::Url::parse(url).map_err(|error| invalid(&error))?;
        Ok(Route::Remote(self.remote()?, url))
    }
}

fn is_loopback_host(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn keeps_method(status: http::StatusCode) -> bool {
    matches!(status.as_u16(), 307 | 308)
}

impl Route {
    /// The route to a URL relative to this one, which must have the same origin.
    pub(super) fn resolve(&self, reference: &str) -> Result<Route, HttpError> {
        let invalid = || HttpError::Broken("the server named an invalid URL".to_owned());
        let base = match self {
            Route::Remote(_, url) => url.clone(),
            Route::Local(_, uri) => reqwest::Url::parse(&uri.to_string()).map_err(|_| invalid())?,
        };
        let url = base.join(reference.trim()).map_err(|_| invalid())?;
        if url.origin() != base.origin() {
            // The error names the origin only: the path or the query may be a secret.
            return Err(HttpError::OtherOrigin(url.origin().ascii_serialization()));
        }
        Ok(match self {
            Route::Remote(client, _) => Route::Remote(client.clone(), url),
            Route::Local(server, _) => Route::Local(Arc::clone(server), url.as_str().parse().map_err(|_| invalid())?),
        })
    }

    pub(super) async fn send(
        &self,
        method: Method,
        headers: SentHeaders<'_>,
        body: Bytes,
    ) -> Result<HttpResponse, HttpError> {
        match self {
            Route::Remote(client, url) => {
                let mut request = reqwest::Request::new(method, url.clone());
                *request.headers_mut() = headers.to_map();
                *request.body_mut() = Some(body.into());
                Ok(HttpResponse::Remote(client.execute(request).await?))
            }
            Route::Local(server, uri) => send_local(server, uri, method, headers, body).await,
        }
    }

    /// Adds the headers that `reqwest` sets by itself and a local connection does not.
    pub(super) fn add_headers(&self, headers: &mut HeaderMap) {
        if let Route::Local(_, uri) = self {
            headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(proxy_base::PRODUCT));
            if let Some(host) = LocalServer::host(uri) {
                headers.entry(HOST).or_insert(host);
            }
        }
    }
}

async fn send_local(
    server: &Arc<LocalServer>,
    uri: &Uri,
    method: Method,
    headers: SentHeaders<'_>,
    body: Bytes,
) -> Result<HttpResponse, HttpError> {
    let mut target = target(uri);
    for _ in 0..MAX_REDIRECTS {
        let response = server.send(method.clone(), target, headers.to_map(), body.clone()).await?;
        match redirect(&response, uri) {
            Some(next) => target = self::target(&next),
            None => return Ok(HttpResponse::Local(Box::new(response))),
        }
    }
    Err(HttpError::Broken("too many redirects".to_owned()))
}

/// What the request line names: the path and the query of a URI.
fn target(uri: &Uri) -> Uri {
    uri.path_and_query().cloned().map_or_else(Uri::default, Uri::from)
}

/// The URI of a redirect that is followed: within the same origin, with the same method.
fn redirect(response: &LocalResponse, from: &Uri) -> Option<Uri> {
    if !keeps_method(response.status()) {
        return None;
    }
    let to: Uri = response.headers().get(LOCATION)?.to_str().ok()?.parse().ok()?;
    let same_origin = match to.authority() {
        Some(authority) => to.scheme() == from.scheme() && Some(authority) == from.authority(),
        None => true,
    };
    same_origin.then_some(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_url_stays_within_its_origin() {
        let pool = HttpPool::default();
        let resolve = |base: &str, reference: &str| match pool.route(base).unwrap().resolve(reference)? {
            Route::Remote(_, url) => Ok(url.to_string()),
            Route::Local(_, uri) => Ok(uri.to_string()),
        };
        for base in ["http://127.0.0.1:80/a/sse?k=1", "http://host/a/sse"] {
            let origin = base.split("/a/").next().unwrap().trim_end_matches(":80");
            let message = |reference: &str| resolve(base, reference).map_err(|error: HttpError| error.to_string());
            assert_eq!(message("/messages/?id=1").unwrap(), format!("{origin}/messages/?id=1"));
            assert_eq!(message(" messages#x ").unwrap().trim_end_matches("#x"), format!("{origin}/a/messages"));
            assert_eq!(message(&format!("{origin}/m")).unwrap(), format!("{origin}/m"));
            for other in ["http://evil.example/m?secret", "//evil.example/m", "https://host/m", "http://host:81/m"] {
                let error = message(other).unwrap_err();
                assert!(error.contains("different origin") && !error.contains("/m"), "{error}");
            }
            assert!(message("http://").is_err());
        }
    }

    #[test]
    fn a_request_target_begins_with_a_slash() {
        for (url, expected) in [
            ("http://localhost", "/"),
            ("http://localhost:1/mcp?a=b", "/mcp?a=b"),
            ("http://localhost:1?token=x", "/?token=x"),
        ] {
            assert_eq!(target(&url.parse().unwrap()).to_string(), expected);
        }
    }

    #[test]
    fn only_plain_http_to_loopback_addresses_is_local() {
        let pool = HttpPool::default();
        let local = |url: &str| matches!(pool.route(url), Ok(Route::Local(..)));
        assert!(local("http://127.0.0.1:80/mcp"));
        assert!(local("http://localhost/mcp"));
        assert!(local("http://[::1]:9/mcp"));
        assert!(!local("https://127.0.0.1/mcp"));
        assert!(!local("http://example.com/mcp"));
        assert!(!local("http://127.0.0.1.example.com/mcp"));
    }
}
