//! Chooses the HTTP client for a server. Servers on this machine need no TLS, proxy or compression, so hyper connections
//! are used directly, which makes every call cheaper. All other servers are reached through `reqwest`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};

use super::answer::HttpResponse;
use super::local::LocalServer;
use super::{HttpError, SentHeaders};
use proxy_fiber::PerThread;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Redirects are followed only within an origin, and only those that keep the method.
const MAX_REDIRECTS: usize = 5;

/// The HTTP clients for all remote servers. They are created for the first such server, because loading the system's certificates can
/// mean reading more than a hundred files.
#[derive(Clone, Debug, Default)]
pub struct HttpPool {
    remote: RemoteClients,
}

/// A client for each serving thread, with connections of its own. The runtime that opens a connection does its I/O.
#[derive(Clone, Debug, Default)]
pub(super) struct RemoteClients(Arc<PerThread<reqwest::Client>>);

/// How one server is reached.
#[derive(Clone, Debug)]
pub(super) enum Route {
    Remote(RemoteClients, reqwest::Url),
    Local(Arc<LocalServer>, Uri),
}

impl RemoteClients {
    /// The client of this thread.
    fn client(&self) -> Result<&reqwest::Client, HttpError> {
        if let Some(made) = self.0.get() {
            return Ok(made);
        }
        let made = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .user_agent(proxy_base::PRODUCT)
            .build()?;
        Ok(self.0.get_or_init(|| made))
    }
}

impl HttpPool {
    pub(super) fn route(&self, url: &str) -> Result<Route, HttpError> {
        let invalid = |error: &dyn std::fmt::Display| HttpError::Connect(format!("invalid URL: {error}"));
        let uri: Uri = url.parse().map_err(|error: http::uri::InvalidUri| invalid(&error))?;
        if uri.scheme_str() == Some("http") && uri.host().is_some_and(is_loopback_host) {
            return Ok(Route::Local(LocalServer::new(&uri), uri));
        }
        let url = reqwest::Url::parse(url).map_err(|error| invalid(&error))?;
        self.remote.client()?;
        Ok(Route::Remote(self.remote.clone(), url))
    }
}

fn is_loopback_host(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
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
            Route::Remote(clients, _) => Route::Remote(clients.clone(), url),
            Route::Local(server, _) => Route::Local(Arc::clone(server), url.as_str().parse().map_err(|_| invalid())?),
        })
    }

    /// Sends a request, and again to where the server redirects it.
    pub(super) async fn send(
        &self,
        method: Method,
        headers: SentHeaders<'_>,
        body: Bytes,
    ) -> Result<HttpResponse, HttpError> {
        let mut redirected = None;
        for _ in 0..=MAX_REDIRECTS {
            let route = redirected.as_ref().unwrap_or(self);
            let response = route.send_once(method.clone(), headers, body.clone()).await?;
            match route.redirected(&response) {
                Some(next) => redirected = Some(next),
                None => return Ok(response),
            }
        }
        Err(HttpError::Broken("too many redirects".to_owned()))
    }

    async fn send_once(
        &self,
        method: Method,
        headers: SentHeaders<'_>,
        body: Bytes,
    ) -> Result<HttpResponse, HttpError> {
        match self {
            Route::Remote(clients, url) => {
                let client = clients.client()?;
                let mut request = reqwest::Request::new(method, url.clone());
                *request.headers_mut() = headers.to_map();
                *request.body_mut() = Some(body.into());
                Ok(HttpResponse::Remote(client.execute(request).await?))
            }
            Route::Local(server, uri) => {
                let response = server.send(method, target(uri), headers.to_map(), body).await?;
                Ok(HttpResponse::Local(Box::new(response)))
            }
        }
    }

    /// The route of a redirect that is followed: within the same origin, with the same method.
    fn redirected(&self, response: &HttpResponse) -> Option<Route> {
        if !matches!(response.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
            return None;
        }
        self.resolve(response.headers().get(LOCATION)?.to_str().ok()?).ok()
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

/// What the request line names: the path and the query of a URI.
fn target(uri: &Uri) -> Uri {
    uri.path_and_query().cloned().map_or_else(Uri::default, Uri::from)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

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

    #[tokio::test]
    async fn a_redirect_is_followed_within_its_origin_and_not_for_ever() {
        let location = |to: &str| format!("HTTP/1.1 307 X\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
        let end = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned();
        // An address for each of the two clients.
        for host in ["127.0.0.1", "127.1"] {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{host}:{}/a/mcp", listener.local_addr().unwrap().port());
            let route = HttpPool::default().route(&url).unwrap();
            let headers = HeaderMap::new();
            for (answers, lines, expected) in [
                (vec![location("/b/mcp"), location("c"), end.clone()], "/a/mcp /b/mcp /b/c", Some(200)),
                (vec![location("http://elsewhere.example/")], "/a/mcp", Some(307)),
                (vec![location("/a/mcp"); 6], "/a/mcp /a/mcp /a/mcp /a/mcp /a/mcp /a/mcp", None),
            ] {
                let serving = async {
                    let mut targets = Vec::new();
                    for answer in &answers {
                        let (mut stream, _) = listener.accept().await.unwrap();
                        let mut request = [0; 4096];
                        let length = stream.read(&mut request).await.unwrap();
                        let line = String::from_utf8_lossy(&request[..length]).into_owned();
                        targets.push(line.split(' ').nth(1).unwrap_or_default().to_owned());
                        let answer = answer.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
                        stream.write_all(answer.as_bytes()).await.unwrap();
                    }
                    targets.join(" ")
                };
                let sending = route.send(Method::POST, (&headers).into(), Bytes::from_static(b"{}"));
                let (targets, response) = tokio::join!(serving, sending);
                assert_eq!(targets, lines, "{host}");
                assert_eq!(response.ok().map(|response| response.status().as_u16()), expected, "{host}");
            }
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
