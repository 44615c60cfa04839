//! Connections to a server on this machine, kept for the next request. Whoever waits for an answer moves the bytes of
//! its connection himself: with a task per connection every request would be handed over and every answer handed back,
//! which costs more than the exchange.

mod framing;
mod head;
mod line;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::HeaderValue;
use http::{HeaderMap, StatusCode, Uri};
use tokio::runtime::Handle;

use super::HttpError;
use head::Head;
pub(super) use head::request;
use line::Line;

/// How many connections wait for the next request, and how long.
const KEPT: usize = 64;
const IDLE: Duration = Duration::from_secs(90);

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
    lines: Vec<(Line, Instant)>,
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

    /// Sends a request, as [`request`] writes it.
    pub(super) async fn send(self: &Arc<Self>, request: Vec<u8>) -> Result<Reply, HttpError> {
        let mut line = match self.take() {
            Some(line) => line,
            None => Line::open(&self.address).await?,
        };
        let head = line.exchange(request).await?;
        Ok(Reply { server: Arc::clone(self), line: Some(line), head })
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one used last: it is the least likely to have been closed. One that was never saw this request.
    fn take(&self) -> Option<Line> {
        let mut kept = self.lock();
        std::iter::from_fn(|| kept.lines.pop()).map(|(line, _)| line).find(Line::is_fresh)
    }

    fn keep(self: &Arc<Self>, line: Line) {
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

/// An answer that is being read. Its connection goes back when all of it was, and is closed otherwise, which cancels
/// the request.
#[derive(Debug)]
pub(super) struct Reply {
    server: Arc<Direct>,
    line: Option<Line>,
    head: Head,
}

impl Reply {
    pub(super) fn status(&self) -> StatusCode {
        self.head.status
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The next piece of the body.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        match &mut self.line {
            Some(line) => line.piece(&mut self.head.body).await,
            None => Ok(None),
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if self.head.stays
            && self.head.body.is_done()
            && let Some(line) = self.line.take().filter(Line::is_sent)
        {
            self.server.keep(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Method;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

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
        let mut reply = server.send(request(&Method::POST, "/mcp", &HeaderMap::new(), b"{}")).await?;
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
            let mut reply = server.send(request(&Method::POST, "/mcp", &HeaderMap::new(), b"{}")).await.unwrap();
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
    async fn an_answer_may_come_before_all_of_a_long_request_was_read() {
        let (listener, server) = server().await;
        let other_side = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            answer(&mut stream, "HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno").await;
            stream
        };
        let long = request(&Method::POST, "/mcp", &HeaderMap::new(), &vec![b'x'; 64 << 20]);
        let asking = async {
            let mut reply = server.send(long).await.unwrap();
            (reply.status(), reply.chunk().await.unwrap().unwrap())
        };
        let (_stream, (status, body)) = tokio::join!(other_side, asking);
        assert_eq!((status, &body[..]), (StatusCode::PAYLOAD_TOO_LARGE, &b"no"[..]));
        assert!(server.take().is_none(), "the rest of the request is still on its way");
    }

    #[tokio::test]
    async fn who_says_something_unasked_is_not_believed() {
        let (listener, server) = server().await;
        let other_side = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            answer(&mut stream, &format!("{WHOLE}{WHOLE}")).await;
            let (mut second, _) = listener.accept().await.unwrap();
            answer(&mut second, CHUNKED).await;
        };
        let asking = async {
            assert_eq!(ask(&server).await.unwrap(), "ok");
            assert_eq!(ask(&server).await.unwrap(), "ok");
        };
        tokio::join!(other_side, asking);
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
