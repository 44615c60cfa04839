//! The listener on loopback to which the authorization server sends the browser back. It takes one answer: that of this
//! log-in, which its `state` tells. Any web page can make a browser send other requests here, so these are refused and do
//! not end the wait.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use super::page::{Page, Verdict};
use super::redirect::Redirect;

pub(super) const PATH: &str = "/callback";

/// The longest head of a request.
const MAX_HEAD: usize = 32 << 10;
/// How long a browser may take to send one. Browsers also open connections on which they send nothing.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the last page may take to reach the browser.
const PAGE_TIMEOUT: Duration = Duration::from_secs(2);
const MAX_CONNECTIONS: usize = 64;
/// Pause after `accept` failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// A bound port of loopback, on which nothing is answered yet.
pub(super) struct CallbackPort {
    socket: TcpListener,
    port: u16,
}

impl CallbackPort {
    /// Binds the port; 0 for any.
    pub(super) async fn bind(port: u16) -> io::Result<Self> {
        // Not `localhost`, which may be another address for the browser than for this process (RFC 8252, 8.3).
        let socket = TcpListener::bind(("127.0.0.1", port)).await?;
        let port = socket.local_addr()?.port();
        Ok(CallbackPort { socket, port })
    }

    pub(super) fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Answers browsers from now on, until the result is dropped.
    pub(super) fn listen(self, redirect: Redirect) -> Callbacks {
        let (sender, events) = mpsc::channel(MAX_CONNECTIONS);
        let endpoint = Arc::new(Endpoint { port: self.port, redirect, taken: AtomicBool::new(false), events: sender });
        Callbacks { events, task: tokio::spawn(accept(self.socket, endpoint)) }
    }
}

/// What arrives at the listener.
pub(super) enum CallbackEvent {
    /// The answer to this log-in.
    Answer(Callback),
    /// A request that was refused, and why.
    Refused(String),
}

/// The browser is back and waits for a page.
pub(super) struct Callback {
    /// The redirect URI with the parameters of the authorization server.
    pub(super) url: String,
    page: oneshot::Sender<Page>,
    shown: oneshot::Receiver<()>,
}

impl Callback {
    /// Shows the last page. Returns when the browser has it.
    pub(super) async fn answer(self, page: Page) {
        if self.page.send(page).is_ok() {
            let _ = tokio::time::timeout(PAGE_TIMEOUT, self.shown).await;
        }
    }
}

/// The requests that arrive. Dropping it closes the port.
pub(super) struct Callbacks {
    events: mpsc::Receiver<CallbackEvent>,
    task: JoinHandle<()>,
}

impl Callbacks {
    pub(super) async fn next(&mut self) -> CallbackEvent {
        match self.events.recv().await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Endpoint {
    port: u16,
    redirect: Redirect,
    /// Whether the answer has arrived: a second one is refused.
    taken: AtomicBool,
    events: mpsc::Sender<CallbackEvent>,
}

async fn accept(socket: TcpListener, endpoint: Arc<Endpoint>) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        match socket.accept().await {
            Ok((stream, _)) => {
                let endpoint = Arc::clone(&endpoint);
                tokio::spawn(async move {
                    if let Err(error) = endpoint.serve(stream).await {
                        tracing::debug!(%error, "a browser lost its connection");
                    }
                    drop(slot);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

impl Endpoint {
    /// Answers one request. The body of a request is not read: there is none in what is answered with a page.
    async fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let head = match tokio::time::timeout(HEAD_TIMEOUT, read_head(&mut stream)).await {
            Ok(head) => head?,
            Err(_) => return Ok(()),
        };
        match self.judge(&head) {
            Ok(url) => {
                let (page, wanted) = oneshot::channel();
                let (done, shown) = oneshot::channel();
                let _ = self.events.send(CallbackEvent::Answer(Callback { url, page, shown })).await;
                // The command may end before it has decided.
                if let Ok(page) = wanted.await {
                    write(&mut stream, &page.response()).await?;
                    let _ = done.send(());
                }
            }
            Err(refusal) => {
                if let Some(reason) = refusal.reason {
                    // Nobody waits for these: what does not fit into the channel is not said.
                    let _ = self.events.try_send(CallbackEvent::Refused(reason.clone()));
                    let page = Page { verdict: Verdict::Refused, text: reason };
                    write(&mut stream, &page.response()).await?;
                } else {
                    write(
                        &mut stream,
                        &format!("HTTP/1.1 {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", refusal.status),
                    )
                    .await?;
                }
            }
        }
        Ok(())
    }

    /// The URL of the answer to this log-in, if the request is that.
    fn judge(&self, head: &str) -> Result<String, Refusal> {
        let request = Request::parse(head).ok_or(Refusal::silent("400 Bad Request"))?;
        let ours = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        // A page whose name was made to lead to this machine (DNS rebinding) has its own name there.
        if !matches!(request.hosts.as_slice(), [host] if ours.iter().any(|own| own.eq_ignore_ascii_case(host))) {
            return Err(Refusal::silent("403 Forbidden"));
        }
        let (path, query) = request.target.split_once('?').unwrap_or((request.target, ""));
        if path != PATH {
            return Err(Refusal::silent("404 Not Found"));
        }
        if request.method != "GET" {
            return Err(Refusal::silent("405 Method Not Allowed"));
        }
        let url = format!("http://127.0.0.1:{}{PATH}?{query}", self.port);
        self.redirect.check(&url).map_err(Refusal::because)?;
        if self.taken.swap(true, Ordering::SeqCst) {
            return Err(Refusal::because("the answer of the authorization server has arrived already".to_owned()));
        }
        Ok(url)
    }
}

/// Why a request gets no page of its own.
struct Refusal {
    status: &'static str,
    /// For the person, if the request may have been theirs.
    reason: Option<String>,
}

impl Refusal {
    fn silent(status: &'static str) -> Self {
        Refusal { status, reason: None }
    }

    fn because(reason: String) -> Self {
        Refusal { status: "400 Bad Request", reason: Some(reason) }
    }
}

/// The head of a request, as far as it matters here.
struct Request<'a> {
    method: &'a str,
    target: &'a str,
    hosts: Vec<&'a str>,
}

impl<'a> Request<'a> {
    fn parse(head: &'a str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") || !target.starts_with('/') {
            return None;
        }
        let headers = lines.filter_map(|line| line.split_once(':'));
        let hosts = headers.filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, value)| value.trim());
        Some(Request { method, target, hosts: hosts.collect() })
    }
}

/// Reads up to the empty line. What is not ASCII is no request of a browser.
async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut head = Vec::new();
    let mut part = [0; 4096];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut part).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count if head.len() + count > MAX_HEAD => {
                return Err(io::Error::other(format!("a head of {} bytes", head.len() + count)));
            }
            count => head.extend_from_slice(&part[..count]),
        }
    }
    String::from_utf8(head).map_err(io::Error::other)
}

async fn write(stream: &mut TcpStream, response: &str) -> io::Result<()> {
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn listening() -> (Callbacks, u16) {
        let port = CallbackPort::bind(0).await.unwrap();
        let uri = port.redirect_uri();
        let redirect = Redirect::of(&uri, "https://as/authorize?state=right").unwrap();
        let number = port.port;
        assert_eq!(uri, format!("http://127.0.0.1:{number}/callback"));
        (port.listen(redirect), number)
    }

    async fn send(port: u16, request: String) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    }

    async fn get(port: u16, target: &str) -> String {
        send(port, format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")).await
    }

    #[tokio::test]
    async fn only_a_get_of_the_redirect_uri_at_this_host_is_looked_at() {
        let (mut callbacks, port) = listening().await;
        let wanted = "/callback?code=c&state=right";
        for (request, status) in [
            (format!("GET {wanted} HTTP/1.1\r\nHost: evil.example:{port}\r\n\r\n"), "403"),
            (format!("GET {wanted} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), "403"),
            (format!("GET {wanted} HTTP/1.1\r\n\r\n"), "403"),
            (format!("GET {wanted} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: 127.0.0.1:{port}\r\n\r\n"), "403"),
            (format!("POST {wanted} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"), "405"),
            (format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"), "404"),
            (format!("GET /callback/?state=right HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"), "404"),
            (format!("GET /favicon.ico HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"), "404"),
            (format!("GET http://127.0.0.1:{port}{wanted} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"), "400"),
            ("nonsense\r\n\r\n".to_owned(), "400"),
        ] {
            let response = send(port, request.clone()).await;
            assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {response}");
        }
        // None of these was the answer, nor was a connection that says nothing.
        let _silent = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let asking = tokio::spawn(send(port, format!("GET {wanted} HTTP/1.1\r\nhost: LOCALHOST:{port}\r\n\r\n")));
        let CallbackEvent::Answer(callback) = callbacks.next().await else { panic!("it was refused") };
        assert_eq!(callback.url, format!("http://127.0.0.1:{port}{wanted}"));
        callback.answer(Page { verdict: Verdict::LoggedIn, text: "It works.".to_owned() }).await;
        let response = asking.await.unwrap();
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n") && response.contains("It works."), "{response}");
    }

    #[tokio::test]
    async fn another_state_does_not_end_the_wait_and_a_second_answer_is_refused() {
        let (mut callbacks, port) = listening().await;
        for target in ["/callback", "/callback?code=c", "/callback?code=c&state=wrong"] {
            let response = get(port, target).await;
            assert!(response.starts_with("HTTP/1.1 400 ") && response.contains("state"), "{response}");
            assert!(matches!(callbacks.next().await, CallbackEvent::Refused(reason) if reason.contains("state")));
        }
        let first = tokio::spawn(async move { get(port, "/callback?code=c&state=right").await });
        let CallbackEvent::Answer(callback) = callbacks.next().await else { panic!("it was refused") };
        let second = get(port, "/callback?code=other&state=right").await;
        assert!(second.starts_with("HTTP/1.1 400 ") && second.contains("arrived already"), "{second}");
        callback.answer(Page { verdict: Verdict::Failed, text: "no".to_owned() }).await;
        assert!(first.await.unwrap().starts_with("HTTP/1.1 400 "));
        drop(callbacks);
        // The port is free again, as soon as the task is gone.
        while CallbackPort::bind(port).await.is_err() {
            tokio::task::yield_now().await;
        }
    }
}
