//! Connections to a server on this machine, kept for the next request. Whoever waits for an answer moves the bytes of
//! its connection himself: with a task per connection every request would be handed over and every answer handed back,
//! which costs more than the exchange.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::HeaderValue;
use http::{HeaderMap, Request, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::Handle;

use super::HttpError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How many connections wait for the next request, and how long.
const KEPT: usize = 64;
const IDLE: Duration = Duration::from_secs(90);

type Message = Request<Full<Bytes>>;

/// One server on this machine.
#[derive(Debug)]
pub(super) struct Direct {
    address: (String, u16),
    kept: Mutex<Kept>,
}

/// The connections that wait for a request.
#[derive(Debug, Default)]
struct Kept {
    /// Longest idle first.
    lines: Vec<(Box<Line>, Instant)>,
    /// Whether somebody looks after them already.
    tidied: bool,
}

impl Direct {
    /// The server of an address with a host.
    pub(super) fn new(uri: &Uri) -> Arc<Self> {
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        Arc::new(Direct { address: (host, uri.port_u16().unwrap_or(80)), kept: Mutex::default() })
    }

    /// What names it in a request.
    pub(super) fn host(uri: &Uri) -> Option<HeaderValue> {
        HeaderValue::from_str(uri.authority()?.as_str()).ok()
    }

    pub(super) async fn send(self: &Arc<Self>, mut message: Message) -> Result<Reply, HttpError> {
        while let Some(line) = self.take() {
            match line.exchange(message).await {
                Ok((line, response)) => return Ok(Reply::new(self, line, response)),
                // The server closed it while it was idle and never saw this request.
                Err(Failure::Unsent(back)) => message = *back,
                Err(Failure::Broken(error)) => return Err(error),
            }
        }
        match Line::open(&self.address).await?.exchange(message).await {
            Ok((line, response)) => Ok(Reply::new(self, line, response)),
            Err(Failure::Unsent(_)) => Err(HttpError::Broken("the server closed it at once".to_owned())),
            Err(Failure::Broken(error)) => Err(error),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one used last: it is the least likely to have been closed.
    fn take(&self) -> Option<Box<Line>> {
        self.lock().lines.pop().map(|(line, _)| line)
    }

    fn keep(self: &Arc<Self>, line: Box<Line>) {
        let mut kept = self.lock();
        kept.lines.push((line, Instant::now()));
        if kept.lines.len() > KEPT {
            kept.lines.remove(0);
        }
        // An answer may be dropped where nothing can be begun any more.
        if let (false, Ok(runtime)) = (kept.tidied, Handle::try_current()) {
            kept.tidied = true;
            runtime.spawn(tidy(Arc::downgrade(self)));
        }
    }

    /// Closes what was idle for so long: whether anything is left.
    fn prune(&self, idle: Duration) -> bool {
        let mut kept = self.lock();
        kept.lines.retain(|(_, since)| since.elapsed() < idle);
        kept.tidied = !kept.lines.is_empty();
        kept.tidied
    }
}

/// Looks after the connections of a server as long as it has any.
async fn tidy(server: Weak<Direct>) {
    loop {
        tokio::time::sleep(IDLE).await;
        if !server.upgrade().is_some_and(|server| server.prune(IDLE)) {
            return;
        }
    }
}

enum Failure {
    Unsent(Box<Message>),
    Broken(HttpError),
}

/// One connection. It is large and changes hands, so it stays where it is.
#[derive(Debug)]
struct Line {
    sender: SendRequest<Full<Bytes>>,
    connection: Connection<TokioIo<TcpStream>, Full<Bytes>>,
    ended: bool,
}

impl Line {
    async fn open((host, port): &(String, u16)) -> Result<Box<Self>, HttpError> {
        let refused = |error: std::io::Error| HttpError::Connect(error.to_string());
        let opened = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect((host.as_str(), *port))).await;
        let late = |_| HttpError::Connect(format!("no answer within {} s", CONNECT_TIMEOUT.as_secs()));
        let stream = opened.map_err(late)?.map_err(refused)?;
        stream.set_nodelay(true).map_err(refused)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        Ok(Box::new(Line { sender, connection, ended: false }))
    }

    /// Moves what can be moved. How it ended, if it did, is told by what waits for the answer.
    fn drive(&mut self, context: &mut Context<'_>) {
        self.ended = self.ended || self.connection.poll_without_shutdown(context).is_ready();
    }

    /// Sends a request and waits for the head of its answer.
    async fn exchange(mut self: Box<Self>, message: Message) -> Result<(Box<Self>, http::Response<Incoming>), Failure> {
        let ready = poll_fn(|context| {
            self.drive(context);
            match self.sender.poll_ready(&mut unwoken()) {
                Poll::Pending if self.ended => Poll::Ready(false),
                ready => ready.map(|ready| ready.is_ok()),
            }
        });
        if !ready.await {
            return Err(Failure::Unsent(Box::new(message)));
        }
        let mut answer = pin!(self.sender.try_send_request(message));
        let answered = poll_fn(|context| {
            self.drive(context);
            match answer.as_mut().poll(&mut unwoken()) {
                Poll::Pending if self.ended => Poll::Ready(None),
                answered => answered.map(Some),
            }
        });
        match answered.await {
            Some(Ok(response)) => Ok((self, response)),
            Some(Err(mut failure)) => Err(match failure.take_message() {
                Some(message) => Failure::Unsent(Box::new(message)),
                None => Failure::Broken(failure.into_error().into()),
            }),
            None => Err(Failure::Broken(HttpError::Broken("connection closed".to_owned()))),
        }
    }
}

/// For what only driving the connection can bring about: whoever drives it looks afterwards anyway, and must not wake
/// itself.
fn unwoken() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// An answer that is being read. Its connection goes back when all of it was, and is closed otherwise, which cancels
/// the request.
#[derive(Debug)]
pub(super) struct Reply {
    server: Arc<Direct>,
    line: Option<Box<Line>>,
    response: http::Response<Incoming>,
    read: bool,
}

impl Reply {
    fn new(server: &Arc<Direct>, line: Box<Line>, response: http::Response<Incoming>) -> Self {
        Reply { server: Arc::clone(server), line: Some(line), response, read: false }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next piece of the body.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            match poll_fn(|context| self.poll_frame(context)).await.transpose()? {
                None => {
                    self.read = true;
                    return Ok(None);
                }
                // Trailers carry nothing for us.
                Some(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let body = self.response.body_mut();
        // Asking for a piece is what makes the connection read one.
        let mut frame = Pin::new(&mut *body).poll_frame(&mut unwoken());
        if let (Poll::Pending, Some(line)) = (&frame, &mut self.line) {
            line.drive(context);
            frame = Pin::new(body).poll_frame(&mut unwoken());
        }
        frame
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if (self.read || self.response.body().is_end_stream())
            && let Some(line) = self.line.take().filter(|line| !line.ended)
        {
            self.server.keep(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const WHOLE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    const ENDLESS: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n";

    async fn server() -> (TcpListener, Arc<Direct>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/mcp", listener.local_addr().unwrap()).parse().unwrap();
        (listener, Direct::new(&uri))
    }

    /// The other side of one exchange.
    async fn answer(stream: &mut TcpStream, text: &str) {
        let mut request = [0; 1024];
        assert!(stream.read(&mut request).await.unwrap() > 0, "the connection was closed");
        stream.write_all(text.as_bytes()).await.unwrap();
    }

    async fn ask(server: &Arc<Direct>) -> Result<String, HttpError> {
        let mut reply = server.send(Request::new(Full::default())).await?;
        let mut text = String::new();
        while let Some(chunk) = reply.chunk().await? {
            text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
        Ok(text)
    }

    #[tokio::test]
    async fn a_connection_serves_one_request_after_another() {
        let (listener, server) = server().await;
        let other_side = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            for text in [WHOLE, CHUNKED, WHOLE] {
                answer(&mut stream, text).await;
            }
        };
        let asking = async {
            for _ in 0..3 {
                assert_eq!(ask(&server).await.unwrap(), "ok");
            }
        };
        tokio::join!(other_side, asking);
    }

    #[tokio::test]
    async fn a_connection_that_was_closed_meanwhile_costs_no_request() {
        let (listener, server) = server().await;
        for _ in 0..3 {
            let other_side = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                answer(&mut stream, WHOLE).await;
            };
            let (asked, ()) = tokio::join!(ask(&server), other_side);
            assert_eq!(asked.unwrap(), "ok");
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_not_read_to_its_end_closes_its_connection() {
        let (listener, server) = server().await;
        let other_side = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            answer(&mut stream, ENDLESS).await;
            stream
        };
        let asking = async {
            let mut reply = server.send(Request::new(Full::default())).await.unwrap();
            assert_eq!(reply.chunk().await.unwrap().unwrap(), "ok");
        };
        let (mut stream, ()) = tokio::join!(other_side, asking);
        assert_eq!(stream.read(&mut [0; 16]).await.unwrap_or(0), 0);
        assert!(server.take().is_none());
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_an_error() {
        let (listener, server) = server().await;
        let other_side = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            answer(&mut stream, ENDLESS).await;
        };
        let (asked, ()) = tokio::join!(ask(&server), other_side);
        assert!(matches!(asked, Err(HttpError::Broken(_))), "{asked:?}");
        drop(listener);
        let refused = ask(&server).await;
        assert!(matches!(refused, Err(HttpError::Connect(_))), "{refused:?}");
    }

    #[tokio::test]
    async fn connections_that_were_idle_too_long_are_closed() {
        let (listener, server) = server().await;
        let other_side = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            answer(&mut stream, WHOLE).await;
            stream
        };
        let (_, mut stream) = tokio::join!(ask(&server), other_side);
        assert!(server.lock().tidied);
        assert!(server.prune(IDLE), "it has just been used");
        assert!(!server.prune(Duration::ZERO), "nothing is left");
        assert_eq!(stream.read(&mut [0; 16]).await.unwrap(), 0, "closed from the other side");
    }
}
