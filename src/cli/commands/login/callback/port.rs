//! The loopback port and its events.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use super::endpoint::CallbackEndpoint;
use super::page::ResultPage;
use crate::cli::commands::login::redirect::Redirect;

pub(super) const PATH: &str = "/callback";

/// How long to wait while the last page is delivered to the browser.
const PAGE_TIMEOUT: Duration = Duration::from_secs(2);
const MAX_CONNECTIONS: usize = 64;
/// Pause after `accept` failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// A bound loopback port that does not answer yet.
pub(crate) struct CallbackPort {
    socket: TcpListener,
    port: u16,
}

impl CallbackPort {
    /// Binds the port; 0 for any.
    pub(crate) async fn bind(port: u16) -> io::Result<Self> {
        // Not `localhost`, which may resolve differently in the browser (RFC 8252, 8.3).
        let socket = TcpListener::bind(("127.0.0.1", port)).await?;
        let port = socket.local_addr()?.port();
        Ok(CallbackPort { socket, port })
    }

    pub(crate) fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Answers browsers from now on, until the result is dropped.
    pub(crate) fn listen(self, redirect: Redirect) -> Callbacks {
        let (sender, events) = mpsc::channel(MAX_CONNECTIONS);
        let endpoint = Arc::new(CallbackEndpoint::new(self.port, redirect, sender));
        Callbacks { events, task: tokio::spawn(accept(self.socket, endpoint)) }
    }
}

/// An event of the listener.
pub(crate) enum CallbackEvent {
    /// The answer to this login.
    Answer(Callback),
    /// A request that was refused, and why.
    Refused(String),
}

/// The browser was redirected back and waits for a page.
pub(crate) struct Callback {
    /// The redirect URI with the parameters of the authorization server.
    pub(crate) url: String,
    pub(super) page: oneshot::Sender<ResultPage>,
    pub(super) shown: oneshot::Receiver<()>,
}

impl Callback {
    /// Shows the last page. Returns when it has been delivered.
    pub(crate) async fn answer(self, page: ResultPage) {
        if self.page.send(page).is_ok() {
            let _ = tokio::time::timeout(PAGE_TIMEOUT, self.shown).await;
        }
    }
}

/// The stream of events. Dropping it closes the port.
pub(crate) struct Callbacks {
    events: mpsc::Receiver<CallbackEvent>,
    task: JoinHandle<()>,
}

impl Callbacks {
    pub(crate) async fn next(&mut self) -> CallbackEvent {
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

async fn accept(socket: TcpListener, endpoint: Arc<CallbackEndpoint>) {
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;
    use crate::cli::commands::login::callback::Verdict;

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
        callback.answer(ResultPage { verdict: Verdict::LoggedIn, text: "It works.".to_owned() }).await;
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
        callback.answer(ResultPage { verdict: Verdict::Failed, text: "no".to_owned() }).await;
        assert!(first.await.unwrap().starts_with("HTTP/1.1 400 "));
        drop(callbacks);
        // The port is free again, as soon as the task is gone.
        while CallbackPort::bind(port).await.is_err() {
            tokio::task::yield_now().await;
        }
    }
}
