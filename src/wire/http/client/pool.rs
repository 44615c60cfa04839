//! The shared connections. Servers on this machine are reached directly: no TLS, no proxy, no compression, and so none
//! of what those cost on every call. All others go through `reqwest`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, LOCATION, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Uri};

use super::HttpError;
use super::answer::Response;
use super::direct::{Direct, Reply, request};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const AGENT: &str = concat!("starlark-mcp-proxy/", env!("CARGO_PKG_VERSION"));
/// How many redirects are followed: only within an origin, and only those that keep the method.
const REDIRECTS: usize = 5;

#[derive(Clone, Debug)]
pub struct Pool {
    remote: reqwest::Client,
}

/// The way to one server.
#[derive(Clone, Debug)]
pub(super) enum Route {
    Remote(reqwest::Client, reqwest::Url),
    Local(Arc<Direct>, Uri),
}

impl Pool {
    pub fn new() -> Result<Self, HttpError> {
        let redirects = reqwest::redirect::Policy::custom(|attempt| {
            let same_origin = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
            let follow = same_origin && keeps_method(attempt.status()) && attempt.previous().len() <= REDIRECTS;
            if follow { attempt.follow() } else { attempt.stop() }
        });
        let remote = reqwest::Client::builder()
            .redirect(redirects)
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .user_agent(AGENT)
            .build()?;
        Ok(Pool { remote })
    }

    pub(super) fn route(&self, url: &str) -> Result<Route, HttpError> {
        let bad = |error: &dyn std::fmt::Display| HttpError::Connect(error.to_string());
        let uri: Uri = url.parse().map_err(|error: http::uri::InvalidUri| bad(&error))?;
        if uri.scheme_str() == Some("http") && uri.host().is_some_and(is_this_machine) {
            return Ok(Route::Local(Direct::new(&uri), uri));
        }
        let url = reqwest::Url::parse(url).map_err(|error| bad(&error))?;
        Ok(Route::Remote(self.remote.clone(), url))
    }
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn keeps_method(status: http::StatusCode) -> bool {
    matches!(status.as_u16(), 307 | 308)
}

impl Route {
    pub(super) fn beside(&self, reference: &str) -> Result<Route, HttpError> {
        let bad = |_| HttpError::Broken("it names an address that is none".to_owned());
        let here = match self {
            Route::Remote(_, url) => url.clone(),
            Route::Local(_, uri) => reqwest::Url::parse(&uri.to_string()).map_err(bad)?,
        };
        let there = here.join(reference.trim()).map_err(bad)?;
        if there.origin() != here.origin() {
            // Not more of it than this: what follows may be a secret.
            return Err(HttpError::OtherOrigin(there.origin().ascii_serialization()));
        }
        Ok(match self {
            Route::Remote(client, _) => Route::Remote(client.clone(), there),
            Route::Local(server, _) => {
                let uri =
                    there.as_str().parse().map_err(|_| HttpError::Broken("its address is too long".to_owned()))?;
                Route::Local(Arc::clone(server), uri)
            }
        })
    }

    pub(super) async fn send(&self, method: Method, headers: HeaderMap, body: Bytes) -> Result<Response, HttpError> {
        match self {
            Route::Remote(client, url) => {
                let mut request = reqwest::Request::new(method, url.clone());
                *request.headers_mut() = headers;
                *request.body_mut() = Some(body.into());
                Ok(Response::Remote(client.execute(request).await?))
            }
            Route::Local(server, uri) => send_local(server, uri, method, headers, body).await,
        }
    }

    /// What every request on it says besides.
    pub(super) fn headers(&self, headers: &mut HeaderMap) {
        if let Route::Local(_, uri) = self {
            headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
            if let Some(host) = Direct::host(uri) {
                headers.entry(HOST).or_insert(host);
            }
        }
    }
}

async fn send_local(
    server: &Arc<Direct>,
    uri: &Uri,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, HttpError> {
    let mut elsewhere = None;
    for _ in 0..REDIRECTS {
        let target = path(elsewhere.as_ref().unwrap_or(uri));
        let reply = server.send(request(&method, &target, &headers, &body)).await?;
        match redirect(&reply, uri) {
            Some(next) => elsewhere = Some(next),
            None => return Ok(Response::Local(Box::new(reply))),
        }
    }
    Err(HttpError::Broken("it redirects in circles".to_owned()))
}

/// What is asked for at an address.
fn path(uri: &Uri) -> Cow<'_, str> {
    match uri.path_and_query().map(PathAndQuery::as_str) {
        None => "/".into(),
        Some(path) if path.starts_with('/') => path.into(),
        // A query alone.
        Some(rest) => format!("/{rest}").into(),
    }
}

/// Where an answer sends us on to, within the same origin.
fn redirect(answer: &Reply, from: &Uri) -> Option<Uri> {
    if !keeps_method(answer.status()) {
        return None;
    }
    let to: Uri = answer.headers().get(LOCATION)?.to_str().ok()?.parse().ok()?;
    let same = match to.authority() {
        Some(authority) => to.scheme() == from.scheme() && Some(authority) == from.authority(),
        None => true,
    };
    same.then_some(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_beside_another_stays_with_its_server() {
        let pool = Pool::new().unwrap();
        let beside = |base: &str, reference: &str| match pool.route(base).unwrap().beside(reference)? {
            Route::Remote(_, url) => Ok(url.to_string()),
            Route::Local(_, uri) => Ok(uri.to_string()),
        };
        for base in ["http://127.0.0.1:80/a/sse?k=1", "http://host/a/sse"] {
            let origin = base.split("/a/").next().unwrap().trim_end_matches(":80");
            let message = |reference: &str| beside(base, reference).map_err(|error: HttpError| error.to_string());
            assert_eq!(message("/messages/?id=1").unwrap(), format!("{origin}/messages/?id=1"));
            assert_eq!(message(" messages#x ").unwrap().trim_end_matches("#x"), format!("{origin}/a/messages"));
            assert_eq!(message(&format!("{origin}/m")).unwrap(), format!("{origin}/m"));
            for other in ["http://evil.example/m?secret", "//evil.example/m", "https://host/m", "http://host:81/m"] {
                let told = message(other).unwrap_err();
                assert!(told.contains("another server") && !told.contains("/m"), "{told}");
            }
            assert!(message("http://").is_err());
        }
    }

    #[test]
    fn what_is_asked_for_begins_with_a_slash() {
        for (url, asked) in [
            ("http://localhost", "/"),
            ("http://localhost:1/mcp?a=b", "/mcp?a=b"),
            ("http://localhost:1?token=x", "/?token=x"),
        ] {
            assert_eq!(path(&url.parse().unwrap()), asked);
        }
    }

    #[test]
    fn only_plain_addresses_of_this_machine_are_reached_directly() {
        let pool = Pool::new().unwrap();
        let local = |url: &str| matches!(pool.route(url), Ok(Route::Local(..)));
        assert!(local("http://127.0.0.1:80/mcp"));
        assert!(local("http://localhost/mcp"));
        assert!(local("http://[::1]:9/mcp"));
        assert!(!local("https://127.0.0.1/mcp"));
        assert!(!local("http://example.com/mcp"));
        assert!(!local("http://127.0.0.1.example.com/mcp"));
    }
}
