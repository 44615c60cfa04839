//! The response of a server to one HTTP request.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AsHeaderName, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::error::root_cause;
use super::local::LocalResponse;
use super::{DRAIN_TIMEOUT, HttpError, MAX_DRAINED};
use crate::sse;

/// Bounds the connections that wait for the end of a body, because some servers never send one.
static DRAINING: Semaphore = Semaphore::const_new(256);

const EVENTS: &[u8] = b"text/event-stream";

/// A response of either client.
#[derive(Debug)]
pub(super) enum HttpResponse {
    Remote(reqwest::Response),
    Local(Box<LocalResponse>),
    Socket(Box<SocketResponse>),
}

/// A response on a Unix socket, and the task that does its I/O.
#[derive(Debug)]
pub(super) struct SocketResponse {
    response: http::Response<Incoming>,
    driver: JoinHandle<()>,
}

impl Drop for SocketResponse {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl SocketResponse {
    async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        while let Some(frame) = self.response.frame().await {
            let frame = frame.map_err(|error| HttpError::Broken(root_cause(&error)))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}

impl HttpResponse {
    pub(super) fn headers(&self) -> &HeaderMap {
        match self {
            HttpResponse::Remote(response) => response.headers(),
            HttpResponse::Local(response) => response.headers(),
            HttpResponse::Socket(response) => response.response.headers(),
        }
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            HttpResponse::Remote(response) => response.status(),
            HttpResponse::Local(response) => response.status(),
            HttpResponse::Socket(response) => response.response.status(),
        }
    }

    /// Frees the headers, which are no longer read. They share memory with the connection's read buffer, which would
    /// otherwise have to allocate a new buffer for the next part of the body.
    fn forget_headers(&mut self) {
        if let HttpResponse::Local(response) = self {
            response.forget_headers();
        }
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        match self {
            HttpResponse::Remote(response) => Ok(response.chunk().await?),
            HttpResponse::Local(response) => response.chunk().await,
            HttpResponse::Socket(response) => response.chunk().await,
        }
    }

    /// Awaits the end of the body in the background, for a short time, so that the connection can be reused.
    fn finish(mut self) {
        let is_done = match &mut self {
            HttpResponse::Remote(_) => false,
            // Most servers send the end with the last event: then no task is needed.
            HttpResponse::Local(response) => response.has_ended(),
            // Each request has a connection of its own.
            HttpResponse::Socket(_) => true,
        };
        if is_done {
            return;
        }
        // Without a runtime nothing can be read any more.
        let Ok(runtime) = Handle::try_current() else { return };
        let Ok(permit) = DRAINING.try_acquire() else { return };
        runtime.spawn(async move {
            let _ = tokio::time::timeout(DRAIN_TIMEOUT, self.drain()).await;
            drop(permit);
        });
    }

    async fn drain(mut self) {
        let mut drained = 0;
        while let Ok(Some(chunk)) = self.chunk().await {
            drained += chunk.len();
            if drained > MAX_DRAINED {
                return;
            }
        }
    }
}

/// A response whose body is still to be read. Any status is a response: the caller knows what it means.
#[derive(Debug)]
pub struct HttpAnswer {
    response: HttpResponse,
    max_bytes: usize,
}

impl HttpAnswer {
    pub(super) fn new(response: HttpResponse, max_bytes: usize) -> Self {
        HttpAnswer { response, max_bytes }
    }

    /// The response to a request on a Unix socket, and the task that does its I/O.
    pub(in crate::http) fn from_socket(
        response: http::Response<Incoming>,
        driver: JoinHandle<()>,
        max_bytes: usize,
    ) -> Self {
        let response = HttpResponse::Socket(Box::new(SocketResponse { response, driver }));
        HttpAnswer { response, max_bytes }
    }

    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub fn header(&self, name: impl AsHeaderName) -> Option<&str> {
        self.response.headers().get(name).and_then(|value| value.to_str().ok())
    }

    /// The values of all `WWW-Authenticate` headers.
    pub fn challenges(&self) -> Vec<String> {
        let values = self.response.headers().get_all(WWW_AUTHENTICATE).iter();
        values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    }

    pub fn content_type(&self) -> &str {
        self.header(CONTENT_TYPE).unwrap_or("")
    }

    pub fn is_events(&self) -> bool {
        let start = self.content_type().trim_start().as_bytes().get(..EVENTS.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(EVENTS))
    }

    /// The whole body, up to the size limit.
    pub async fn body(&mut self) -> Result<Bytes, HttpError> {
        let first = self.response.chunk().await?.unwrap_or_default();
        let Some(second) = self.response.chunk().await? else {
            // Most bodies arrive in one chunk and need no copy.
            return if first.len() > self.max_bytes { Err(HttpError::TooLarge(self.max_bytes)) } else { Ok(first) };
        };
        let mut body = [first, second].concat();
        loop {
            if body.len() > self.max_bytes {
                return Err(HttpError::TooLarge(self.max_bytes));
            }
            match self.response.chunk().await? {
                Some(chunk) => body.extend_from_slice(&chunk),
                None => return Ok(body.into()),
            }
        }
    }

    /// The events of a stream that belongs to one request; an event over the size limit is an error.
    pub fn events(self) -> EventStream {
        let parser = sse::Parser::new(self.max_bytes);
        self.parsed_by(parser)
    }

    /// The events of a stream that several requests share; an event over the size limit is truncated, so that it does
    /// not end the stream for the others.
    pub fn shared_events(self) -> EventStream {
        let parser = sse::Parser::cutting(self.max_bytes);
        self.parsed_by(parser)
    }

    fn parsed_by(mut self, parser: sse::Parser) -> EventStream {
        self.response.forget_headers();
        EventStream {
            response: self.response,
            parser,
            queue: VecDeque::new(),
            max_bytes: self.max_bytes,
            is_too_large: false,
        }
    }
}

/// The events of one response.
#[derive(Debug)]
pub struct EventStream {
    response: HttpResponse,
    parser: sse::Parser,
    queue: VecDeque<sse::Event>,
    max_bytes: usize,
    is_too_large: bool,
}

impl EventStream {
    /// The next event; `None` when the server closed the stream.
    pub async fn next(&mut self) -> Result<Option<sse::Event>, HttpError> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Ok(Some(event));
            }
            if self.is_too_large {
                return Err(HttpError::TooLarge(self.max_bytes));
            }
            let Some(chunk) = self.response.chunk().await? else { return Ok(None) };
            // The events before the oversized one are complete.
            self.is_too_large = self.parser.push(&chunk, &mut self.queue).is_err();
        }
    }

    /// Ends a stream when no further event is needed. Most servers end the body right after the last event: the body is
    /// read to its end, so that the connection can be reused, unless the server keeps the stream open. Dropping the
    /// stream instead closes the connection at once, which cancels the request.
    pub fn finish(self) {
        self.response.finish();
    }

    pub fn last_id(&self) -> Option<&str> {
        self.parser.last_id()
    }

    pub fn retry(&self) -> Option<Duration> {
        self.parser.retry()
    }
}

#[cfg(test)]
mod tests {

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::oneshot;

    use super::super::{HttpClient, HttpPool};
    use super::*;

    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    const EVENT: &str = "9\r\ndata: 1\n\n\r\n";
    const END: &str = "0\r\n\r\n";

    /// Sends a request, reads its first event and finishes the stream.
    async fn first_event(client: &HttpClient) -> String {
        let mut events = client.post(client.headers().into(), "{}".to_owned()).await.unwrap().events();
        let event = events.next().await.unwrap().unwrap();
        events.finish();
        event.data
    }

    /// A server and a client of it; `host` decides between the two clients.
    async fn server(host: &str) -> (TcpListener, HttpClient) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{host}:{}/mcp", listener.local_addr().unwrap().port());
        let client = HttpClient::new(&HttpPool::default(), &url, [], 1 << 20).unwrap();
        (listener, client)
    }

    /// A loopback address that is written like no other server's, and one that only the general client understands.
    const HOSTS: [&str; 2] = ["127.0.0.1", "127.1"];

    #[tokio::test]
    async fn a_finished_stream_gives_its_connection_back_unless_the_server_keeps_it_open() {
        for host in HOSTS {
            let (listener, client) = server(host).await;
            let server = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 1024];
                for response in [format!("{HEAD}{EVENT}{END}"), format!("{HEAD}{EVENT}")] {
                    assert!(stream.read(&mut request).await.unwrap() > 0, "{host}: the connection was closed");
                    stream.write_all(response.as_bytes()).await.unwrap();
                }
                assert_eq!(stream.read(&mut request).await.unwrap_or(0), 0, "{host}: closed after a while");
            };
            let asking = async {
                for _ in 0..2 {
                    assert_eq!(first_event(&client).await, "1");
                    // The end of a body that arrives with its last event has been read by then.
                    tokio::task::yield_now().await;
                }
            };
            tokio::join!(server, asking);
        }
    }

    #[tokio::test]
    async fn events_before_one_that_is_too_large_are_read() {
        let (listener, client) = server(HOSTS[0]).await;
        let client = HttpClient { max_bytes: 100, ..client };
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
            let events = format!("data: 1\n\ndata: {}\n\n", "x".repeat(200));
            let response = format!("{HEAD}{:x}\r\n{events}\r\n{END}", events.len());
            stream.write_all(response.as_bytes()).await.unwrap();
        };
        let asking = async {
            let mut events = client.post(client.headers().into(), "{}".to_owned()).await.unwrap().events();
            assert_eq!(events.next().await.unwrap().unwrap().data, "1");
            assert!(matches!(events.next().await, Err(HttpError::TooLarge(100))));
        };
        tokio::join!(server, asking);
    }

    #[tokio::test]
    async fn the_end_of_a_finished_stream_may_come_later() {
        for host in HOSTS {
            let (listener, client) = server(host).await;
            let (first, is_read) = oneshot::channel::<()>();
            let (ended, is_ended) = oneshot::channel();
            let server = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 1024];
                assert!(stream.read(&mut request).await.unwrap() > 0);
                stream.write_all(format!("{HEAD}{EVENT}").as_bytes()).await.unwrap();
                is_read.await.unwrap();
                tokio::time::sleep(DRAIN_TIMEOUT / 3).await;
                stream.write_all(format!("e\r\n: some comment\r\n{END}").as_bytes()).await.unwrap();
                ended.send(()).unwrap();
                assert!(stream.read(&mut request).await.unwrap() > 0, "{host}: the connection was closed");
                stream.write_all(format!("{HEAD}{EVENT}{END}").as_bytes()).await.unwrap();
            };
            let asking = async {
                first_event(&client).await;
                first.send(()).unwrap();
                is_ended.await.unwrap();
                // The bytes are on their way through the kernel.
                tokio::time::sleep(DRAIN_TIMEOUT / 20).await;
                assert_eq!(first_event(&client).await, "1");
            };
            tokio::join!(server, asking);
        }
    }

    #[tokio::test]
    async fn a_finished_stream_that_goes_on_and_on_is_closed() {
        for host in HOSTS {
            let (listener, client) = server(host).await;
            let server = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
                stream.write_all(format!("{HEAD}{EVENT}").as_bytes()).await.unwrap();
                let comment = format!("400\r\n{}\r\n", ":".repeat(1024));
                while stream.write_all(comment.as_bytes()).await.is_ok() {}
            };
            let closed = tokio::time::timeout(DRAIN_TIMEOUT * 20, async { tokio::join!(server, first_event(&client)) });
            assert!(closed.await.is_ok(), "{host}: the connection stays open");
        }
    }
}
