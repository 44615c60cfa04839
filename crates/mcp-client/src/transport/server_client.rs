//! The HTTP client of one server: sends the access token with each request, and repeats a request if the token had to be
//! renewed.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, Method};

use super::error::TransportError;
use super::log_in::{AfterRefusal, LogIn};
use proxy_wire::http::{HttpAnswer, HttpClient, HttpError, SentHeaders};

#[derive(Clone, Debug)]
pub(crate) struct ServerClient {
    client: HttpClient,
    log_in: Arc<LogIn>,
}

/// Why there is no response.
#[derive(Debug)]
pub(crate) enum SendError {
    Http(HttpError),
    /// The server does not let the proxy in, or the request cannot be written.
    Refused(TransportError),
}

impl From<HttpError> for SendError {
    fn from(error: HttpError) -> Self {
        SendError::Http(error)
    }
}

impl From<SendError> for TransportError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Http(error) => error.into(),
            SendError::Refused(error) => error,
        }
    }
}

enum HttpMessage {
    Post(Bytes),
    Get,
}

impl ServerClient {
    pub(crate) fn new(client: HttpClient, log_in: &Arc<LogIn>) -> Self {
        ServerClient { client, log_in: Arc::clone(log_in) }
    }

    /// The client for a URL that the server named, relative to its own.
    pub(crate) fn resolve(&self, reference: &str) -> Result<Self, HttpError> {
        Ok(ServerClient { client: self.client.resolve(reference)?, log_in: Arc::clone(&self.log_in) })
    }

    /// The headers every request to this server starts from.
    pub(crate) fn headers(&self) -> &HeaderMap {
        self.client.headers()
    }

    /// Posts a message. A response with status 401 or 403 is an error.
    pub(crate) async fn post(&self, headers: SentHeaders<'_>, body: String) -> Result<HttpAnswer, SendError> {
        self.send(headers, HttpMessage::Post(body.into())).await
    }

    /// Opens an event stream. A response with status 401 or 403 is an error.
    pub(crate) async fn get(&self, headers: SentHeaders<'_>) -> Result<HttpAnswer, SendError> {
        self.send(headers, HttpMessage::Get).await
    }

    /// Ends a session. A refusal is ignored: the server will expire the session by itself.
    pub(crate) async fn delete(&self, headers: SentHeaders<'_>) -> Result<HttpAnswer, SendError> {
        let shown = self.log_in.authorization().await.map_err(SendError::Refused)?;
        let added = with_log_in(headers.added, shown);
        Ok(self.client.delete(SentHeaders { added: &added, ..headers }).await?)
    }

    /// Sends a request to an API. A refusal that no other log-in helps against is a response like any other.
    pub(crate) async fn request(
        &self,
        method: Method,
        url: &str,
        headers: SentHeaders<'_>,
        body: Bytes,
    ) -> Result<HttpAnswer, SendError> {
        let mut repetitions = 0;
        loop {
            let shown = self.log_in.authorization().await.map_err(SendError::Refused)?;
            let added = with_log_in(headers.added, shown.clone());
            let sent = SentHeaders { added: &added, ..headers };
            let answer = self.client.request(method.clone(), url, sent, body.clone()).await?;
            if !self.log_in.has_credentials() || !concerns_the_log_in(&answer) {
                return Ok(answer);
            }
            match self.log_in.refused(&answer, shown, repetitions).await {
                AfterRefusal::SendAgain => repetitions += 1,
                AfterRefusal::Fail(TransportError::Unexpected(_)) => return Ok(answer),
                AfterRefusal::Fail(error) => return Err(SendError::Refused(error)),
            }
        }
    }

    async fn send(&self, headers: SentHeaders<'_>, message: HttpMessage) -> Result<HttpAnswer, SendError> {
        let mut repetitions = 0;
        loop {
            let shown = self.log_in.authorization().await.map_err(SendError::Refused)?;
            let added = with_log_in(headers.added, shown.clone());
            let sent = SentHeaders { added: &added, ..headers };
            let answer = match &message {
                HttpMessage::Post(body) => self.client.post(sent, Bytes::clone(body)).await?,
                HttpMessage::Get => self.client.get(sent).await?,
            };
            if !is_refusal(&answer) {
                return Ok(answer);
            }
            match self.log_in.refused(&answer, shown, repetitions).await {
                AfterRefusal::SendAgain => repetitions += 1,
                AfterRefusal::Fail(error) => return Err(SendError::Refused(error)),
            }
        }
    }
}

fn is_refusal(answer: &HttpAnswer) -> bool {
    matches!(answer.status().as_u16(), 401 | 403)
}

/// Whether an API refuses the log-in itself, and not what it was asked to do.
fn concerns_the_log_in(answer: &HttpAnswer) -> bool {
    match answer.status().as_u16() {
        401 => true,
        403 => answer.challenges().iter().any(|challenge| challenge.contains("insufficient_scope")),
        _ => false,
    }
}

/// The headers of a request with the log-in that is shown.
fn with_log_in(
    added: &[(HeaderName, HeaderValue)],
    shown: Option<HeaderValue>,
) -> Cow<'_, [(HeaderName, HeaderValue)]> {
    match shown {
        None => added.into(),
        Some(value) => added.iter().cloned().chain([(AUTHORIZATION, value)]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Poll;

    use futures::future::{BoxFuture, FutureExt, pending, ready};
    use parking_lot::Mutex;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use proxy_model::{AuthorizationRefusal, Credentials, LoginNeeded, Remedy};
    use proxy_wire::http::HttpPool;

    /// A log-in whose renewals make `token-1`, `token-2` and so on.
    #[derive(Debug)]
    struct RenewedLogIn {
        renewals: AtomicUsize,
        remedy: Remedy,
        refusals: Mutex<Vec<AuthorizationRefusal>>,
    }

    impl Credentials for RenewedLogIn {
        fn ready(&self) -> Poll<Option<HeaderValue>> {
            Poll::Pending
        }

        fn authorization(&self) -> BoxFuture<'_, Result<Option<HeaderValue>, LoginNeeded>> {
            let value = format!("Bearer token-{}", self.renewals.load(Ordering::Relaxed));
            ready(Ok(Some(HeaderValue::from_str(&value).unwrap()))).boxed()
        }

        fn refused(&self, refusal: AuthorizationRefusal) -> BoxFuture<'_, Remedy> {
            self.renewals.fetch_add(1, Ordering::Relaxed);
            self.refusals.lock().push(refusal);
            ready(self.remedy.clone()).boxed()
        }

        fn look_out(&self) {}

        fn changed(&self) -> BoxFuture<'_, ()> {
            pending().boxed()
        }
    }

    /// A server that lets in whoever shows this token. Returns what it was shown and sent.
    async fn server(lets_in: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![0; 4096];
                let length = stream.read(&mut request).await.unwrap();
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let response = match request.contains(lets_in) {
                    true => "HTTP/1.1 202 Accepted\r\n",
                    false => {
                        "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic\r\nwww-authenticate: Bearer scope=a\r\n"
                    }
                };
                seen.lock().push(request);
                let response = format!("{response}content-length: 0\r\nconnection: close\r\n\r\n");
                stream.write_all(response.as_bytes()).await.unwrap();
            }
        });
        (url, requests)
    }

    fn client(url: &str, remedy: Remedy) -> (ServerClient, Arc<RenewedLogIn>, Arc<LogIn>) {
        let fake = Arc::new(RenewedLogIn { renewals: AtomicUsize::new(0), remedy, refusals: Mutex::default() });
        let credentials = Arc::clone(&fake) as Arc<dyn Credentials>;
        let log_in = LogIn::new(&"s".into(), Some(credentials));
        let client = HttpClient::new(&HttpPool::default(), url, [], 1 << 20).unwrap();
        (ServerClient::new(client, &log_in), fake, log_in)
    }

    async fn post(client: &ServerClient) -> Result<u16, TransportError> {
        let answer = client.post(client.headers().into(), "{\"a\":1}".to_owned()).await?;
        Ok(answer.status().as_u16())
    }

    #[tokio::test]
    async fn a_request_is_sent_once_more_after_the_log_in_was_renewed() {
        let (url, requests) = server("Bearer token-1").await;
        let (client, fake, _) = client(&url, Remedy::Retry);
        assert_eq!(post(&client).await.unwrap(), 202);
        assert!(requests.lock().iter().all(|request| request.ends_with("{\"a\":1}")), "{requests:?}");
        let refusals = fake.refusals.lock();
        assert_eq!((requests.lock().len(), refusals.len()), (2, 1));
        assert_eq!(refusals[0].challenges, ["Basic", "Bearer scope=a"]);
        let shown = refusals[0].shown.as_ref().unwrap();
        assert_eq!((shown.to_str().unwrap(), shown.is_sensitive()), ("Bearer token-0", true));
    }

    #[tokio::test]
    async fn renewals_that_do_not_help_come_to_an_end() {
        let (url, requests) = server("nobody").await;
        let (client, _, log_in) = client(&url, Remedy::Retry);
        let TransportError::LoginNeeded(needed) = post(&client).await.unwrap_err() else { panic!("another error") };
        assert!(needed.0.contains("run `proxy login s`"), "{needed}");
        assert_eq!(log_in.needed().await, needed, "all connections learn of it");
        assert_eq!(requests.lock().len(), 3);
    }

    #[tokio::test]
    async fn what_does_not_help_is_an_error_of_its_own() {
        let (url, requests) = server("nobody").await;
        let needed = LoginNeeded("log in".to_owned());
        let error_after = async |remedy| post(&client(&url, remedy).0).await.unwrap_err();
        assert!(matches!(error_after(Remedy::LogIn(needed)).await, TransportError::LoginNeeded(_)));
        assert!(matches!(error_after(Remedy::MoreScopes("b".to_owned())).await, TransportError::Forbidden(_)));
        assert!(matches!(error_after(Remedy::Later("no network".to_owned())).await, TransportError::NotRenewed(_)));
        let none = error_after(Remedy::None).await.to_string();
        assert!(none.contains("authorization that `proxy login` does not support (HTTP 401)"), "{none}");
        assert_eq!(requests.lock().len(), 4, "one request each");
    }

    #[tokio::test]
    async fn without_a_log_in_nothing_is_shown() {
        let (url, requests) = server("nobody").await;
        let client = HttpClient::new(&HttpPool::default(), &url, [], 1 << 20).unwrap();
        let client = ServerClient::new(client, &LogIn::new(&"s".into(), None));
        let error = post(&client).await.unwrap_err().to_string();
        assert!(error.contains("check `headers` of this server"), "{error}");
        assert!(!requests.lock()[0].to_lowercase().contains("authorization"), "{requests:?}");
    }
}
