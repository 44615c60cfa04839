//! Answers requests from browsers, and recognizes the answer to the login.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};

use super::page::{ResultPage, Verdict};
use super::port::{Callback, CallbackEvent, PATH};
use super::request_head::{RequestHead, read_head};
use crate::cli::commands::login::redirect::Redirect;

/// How long a browser may take to send a request. Browsers also open connections on which they send nothing.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct CallbackEndpoint {
    port: u16,
    redirect: Redirect,
    /// Whether the answer has arrived: a second one is refused.
    taken: AtomicBool,
    events: mpsc::Sender<CallbackEvent>,
}

impl CallbackEndpoint {
    pub(super) fn new(port: u16, redirect: Redirect, events: mpsc::Sender<CallbackEvent>) -> Self {
        CallbackEndpoint { port, redirect, taken: AtomicBool::new(false), events }
    }

    /// Answers one request. Its body is not read, because requests that get a page have none.
    pub(super) async fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
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
                    // Nobody depends on these events, so one that does not fit into the channel is dropped.
                    let _ = self.events.try_send(CallbackEvent::Refused(reason.clone()));
                    let page = ResultPage { verdict: Verdict::Refused, text: reason };
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

    /// The URL, if the request is the answer to this login.
    fn judge(&self, head: &str) -> Result<String, RefusedRequest> {
        let request = RequestHead::parse(head).ok_or(RefusedRequest::silent("400 Bad Request"))?;
        let ours = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        // With DNS rebinding, the `Host` header has the name of the hostile page.
        if !matches!(request.hosts.as_slice(), [host] if ours.iter().any(|own| own.eq_ignore_ascii_case(host))) {
            return Err(RefusedRequest::silent("403 Forbidden"));
        }
        let (path, query) = request.target.split_once('?').unwrap_or((request.target, ""));
        if path != PATH {
            return Err(RefusedRequest::silent("404 Not Found"));
        }
        if request.method != "GET" {
            return Err(RefusedRequest::silent("405 Method Not Allowed"));
        }
        let url = format!("http://127.0.0.1:{}{PATH}?{query}", self.port);
        self.redirect.check(&url).map_err(RefusedRequest::because)?;
        if self.taken.swap(true, Ordering::SeqCst) {
            return Err(RefusedRequest::because("the authorization server's answer has arrived already".to_owned()));
        }
        Ok(url)
    }
}

/// Why a request is refused.
struct RefusedRequest {
    status: &'static str,
    /// For the user, if the request may have been theirs.
    reason: Option<String>,
}

impl RefusedRequest {
    fn silent(status: &'static str) -> Self {
        RefusedRequest { status, reason: None }
    }

    fn because(reason: String) -> Self {
        RefusedRequest { status: "400 Bad Request", reason: Some(reason) }
    }
}

async fn write(stream: &mut TcpStream, response: &str) -> io::Result<()> {
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await
}
