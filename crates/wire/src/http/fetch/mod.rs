//! Requests to URLs that another server has named, such as its authorization server's. A server must not make the proxy
//! request arbitrary internal addresses (SSRF), so every address is checked on connect and after every redirect.

mod issuer_metadata;
mod reach;

use std::sync::OnceLock;
use std::time::Duration;

use http::header::LOCATION;
use http::{Method, Request, Response};
use url::Url;

pub use issuer_metadata::{is_same_issuer, issuer_metadata_urls};
pub use reach::Reach;
use reach::{OutOfReach, WithinReach, is_loopback, origin, proxy_hosts};

/// For one request, from the connection to the end of the body.
const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_BODY: usize = 1 << 20;
const MAX_REDIRECTS: usize = 5;

#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The URL must not be requested.
    #[error("{0}")]
    Refused(String),
    /// There was no answer.
    #[error("{0}")]
    Failed(String),
}

/// HTTP clients, one for each reach, created on first use.
#[derive(Debug)]
pub struct Fetcher {
    max_body: usize,
    /// Whether a redirect may lead to another host.
    may_leave_host: bool,
    public: OnceLock<reqwest::Client>,
    private: OnceLock<reqwest::Client>,
    loopback: OnceLock<reqwest::Client>,
    /// This machine is reached without an HTTP proxy.
    this_machine: OnceLock<reqwest::Client>,
}

impl Default for Fetcher {
    fn default() -> Self {
        Fetcher {
            max_body: MAX_BODY,
            may_leave_host: true,
            public: OnceLock::new(),
            private: OnceLock::new(),
            loopback: OnceLock::new(),
            this_machine: OnceLock::new(),
        }
    }
}

impl Fetcher {
    /// Reads bodies of this size, and follows redirects only on the same host: for URLs that the config names.
    pub fn of_documents(max_body: usize) -> Self {
        Fetcher { max_body, may_leave_host: false, ..Fetcher::default() }
    }

    /// Sends a request and reads the whole response, regardless of its status. Only `GET` follows redirects: posted data is
    /// meant for this server only.
    pub async fn fetch(&self, reach: Reach, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, FetchError> {
        match tokio::time::timeout(TIMEOUT, self.follow(reach, request)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(FetchError::Failed(format!("no complete response within {} s", TIMEOUT.as_secs()))),
        }
    }

    async fn follow(&self, reach: Reach, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, FetchError> {
        let (parts, body) = request.into_parts();
        let mut url = Url::parse(&parts.uri.to_string()).map_err(|_| FetchError::Refused("not a valid URL".into()))?;
        for _ in 0..=MAX_REDIRECTS {
            reach.check(&url)?;
            let mut request = reqwest::Request::new(parts.method.clone(), url.clone());
            *request.headers_mut() = parts.headers.clone();
            if parts.method != Method::GET {
                *request.body_mut() = Some(body.clone().into());
            }
            let response = self.client(reach, &url)?.execute(request).await.map_err(|error| reason(error, &url))?;
            match redirect(&parts.method, &response, &url) {
                Some(next) if !self.may_leave_host && next.origin() != url.origin() => {
                    let [from, to] = [&url, &next].map(origin);
                    return Err(FetchError::Refused(format!("`{from}` redirects to another host, `{to}`")));
                }
                Some(next) => url = next,
                None => return self.read(response, &url).await,
            }
        }
        Err(FetchError::Refused(format!("`{}` redirects more than {MAX_REDIRECTS} times", origin(&url))))
    }

    fn client(&self, reach: Reach, url: &Url) -> Result<reqwest::Client, FetchError> {
        let direct = is_loopback(url);
        let slot = match reach {
            _ if direct => &self.this_machine,
            Reach::Public => &self.public,
            Reach::Private => &self.private,
            Reach::Loopback => &self.loopback,
        };
        if let Some(client) = slot.get() {
            return Ok(client.clone());
        }
        let proxies = if direct { Vec::new() } else { proxy_hosts() };
        let builder = reqwest::Client::builder()
            // Redirects are followed by hand, because each target must be checked.
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(TIMEOUT)
            .dns_resolver(WithinReach { reach, proxies })
            .user_agent(proxy_base::PRODUCT);
        let builder = if direct { builder.no_proxy() } else { builder };
        let client = builder.build().map_err(|error| FetchError::Failed(error.to_string()))?;
        Ok(slot.get_or_init(|| client).clone())
    }

    async fn read(&self, mut response: reqwest::Response, url: &Url) -> Result<Response<Vec<u8>>, FetchError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| reason(error, url))? {
            body.extend_from_slice(&chunk);
            if body.len() > self.max_body {
                return Err(FetchError::Refused(format!("`{}` sends more than {} bytes", origin(url), self.max_body)));
            }
        }
        let mut read = Response::new(body);
        *read.status_mut() = response.status();
        *read.headers_mut() = std::mem::take(response.headers_mut());
        Ok(read)
    }
}

fn redirect(method: &Method, response: &reqwest::Response, from: &Url) -> Option<Url> {
    if method != Method::GET || !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    from.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()
}

/// Why a request failed, without its URL and its body.
fn reason(error: reqwest::Error, url: &Url) -> FetchError {
    let error = error.without_url();
    let mut last = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref::<OutOfReach>() {
            return FetchError::Refused(refused.0.clone());
        }
        last = inner.to_string();
        cause = inner.source();
    }
    let kind = if error.is_connect() { "cannot connect to" } else { "no answer from" };
    FetchError::Failed(format!("{kind} `{}`: {last}", origin(url)))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A server that gives these responses, one to each connection, and the first lines of what it was asked.
    async fn server(responses: Vec<String>) -> (String, tokio::task::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            let mut asked = Vec::new();
            for response in responses {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = vec![0; 4096];
                let read = stream.read(&mut request).await.unwrap();
                let text = String::from_utf8_lossy(&request[..read]).into_owned();
                asked.push(text.lines().next().unwrap_or_default().to_owned());
                let _ = stream.write_all(response.as_bytes()).await;
            }
            asked
        });
        (origin, serving)
    }

    fn answer(head: &str, body: &str) -> String {
        format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    fn request(method: Method, url: &str) -> Request<Vec<u8>> {
        Request::builder().method(method).uri(url).body(b"secret=1".to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_get_follows_redirects_that_stay_within_reach() {
        let redirect = |to: &str| answer(&format!("302 Found\r\nlocation: {to}"), "");
        let (origin, serving) = server(vec![redirect("/b"), answer("200 OK", "here")]).await;
        let found = Fetcher::default().fetch(Reach::Loopback, request(Method::GET, &format!("{origin}/a"))).await;
        assert_eq!(found.unwrap().body(), b"here");
        assert_eq!(serving.await.unwrap(), ["GET /a HTTP/1.1", "GET /b HTTP/1.1"]);
        for to in ["http://169.254.169.254/latest", "http://10.0.0.1/", "file:///etc/passwd", "http://as.example/"] {
            let (origin, _serving) = server(vec![redirect(to)]).await;
            let refused = Fetcher::default().fetch(Reach::Loopback, request(Method::GET, &origin)).await;
            assert!(matches!(refused, Err(FetchError::Refused(_))), "{to}");
        }
    }

    #[tokio::test]
    async fn what_is_posted_goes_to_one_server_only() {
        let (origin, serving) = server(vec![answer("307 Temporary Redirect\r\nlocation: /b", "")]).await;
        let found = Fetcher::default().fetch(Reach::Loopback, request(Method::POST, &format!("{origin}/a"))).await;
        assert_eq!(found.unwrap().status().as_u16(), 307);
        assert_eq!(serving.await.unwrap(), ["POST /a HTTP/1.1"]);
    }

    #[tokio::test]
    async fn a_body_has_a_limit() {
        let (origin, _serving) = server(vec![answer("200 OK", &"x".repeat(MAX_BODY + 1))]).await;
        let refused = Fetcher::default().fetch(Reach::Loopback, request(Method::GET, &origin)).await;
        assert!(matches!(refused, Err(FetchError::Refused(_))));
    }

    #[tokio::test]
    async fn a_name_is_checked_by_the_addresses_it_has() {
        let client = Fetcher::default();
        let client = client.client(Reach::Public, &Url::parse("https://as.example").unwrap()).unwrap();
        let error = client.get("https://localhost:1/").send().await.unwrap_err();
        let reason = reason(error, &Url::parse("https://localhost:1/").unwrap());
        assert!(matches!(&reason, FetchError::Refused(text) if text.contains("no public address")), "{reason}");
    }
}
