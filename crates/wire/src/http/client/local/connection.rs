//! One HTTP/1.1 connection to a server on this machine.
//!
//! hyper separates a connection into a handle that accepts requests and a future that does the I/O. That future is
//! usually spawned as a task; here the task that waits for a response polls it, which saves two task switches per
//! request. For the same reason responses and bodies are polled with a no-op waker: only the I/O future can complete
//! them, and it is polled with the waker of the waiting task.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::early_response::EarlyResponseStream;
use super::io_waker::IoWaker;
use crate::http::HttpError;
use crate::http::client::error::root_cause;
use proxy_fiber::serving_thread;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Size limit of the status line and the headers of a response.
const MAX_HEAD: usize = 64 << 10;

pub(super) type LocalRequest = Request<Full<Bytes>>;

/// Does the I/O of a connection.
#[derive(Debug)]
struct ConnectionDriver {
    io: http1::Connection<TokioIo<EarlyResponseStream>, Full<Bytes>>,
    io_waker: Arc<IoWaker>,
    /// The same, as the I/O knows it.
    waker: Waker,
}

#[derive(Debug)]
pub(super) struct LocalConnection {
    requests: SendRequest<Full<Bytes>>,
    /// `None` once the connection is closed. It is large, and each request passes the connection on many times.
    driver: Option<Box<ConnectionDriver>>,
    /// The serving thread whose runtime is told of I/O.
    thread: usize,
}

/// The result of sending a request.
#[derive(Debug)]
pub(super) enum LocalExchange {
    Response(Response<Incoming>),
    /// The connection was closed before any byte of the request was written.
    Unsent(LocalRequest),
}

impl LocalConnection {
    pub(super) async fn open((host, port): &(String, u16)) -> Result<Self, HttpError> {
        let refused = |error: std::io::Error| HttpError::Connect(error.to_string());
        let opening = TcpStream::connect((host.as_str(), *port));
        let stream = match tokio::time::timeout(CONNECT_TIMEOUT, opening).await {
            Ok(opened) => opened.map_err(refused)?,
            Err(_) => {
                return Err(HttpError::Connect(format!("no connection within {} s", CONNECT_TIMEOUT.as_secs())));
            }
        };
        stream.set_nodelay(true).map_err(refused)?;
        let stream = TokioIo::new(EarlyResponseStream::new(stream));
        let handshake = http1::Builder::new().max_header_size(MAX_HEAD).handshake(stream).await;
        let (requests, io) = handshake.map_err(|error| HttpError::Connect(error.to_string()))?;
        let io_waker = Arc::new(IoWaker::default());
        let waker = Waker::from(Arc::clone(&io_waker));
        let driver = Some(Box::new(ConnectionDriver { io, io_waker, waker }));
        Ok(LocalConnection { requests, driver, thread: serving_thread() })
    }

    pub(super) fn thread(&self) -> usize {
        self.thread
    }

    /// Whether the last exchange is complete, as far as the I/O that was done shows.
    pub(super) fn is_ready(&self) -> bool {
        self.driver.is_some() && self.requests.is_ready()
    }

    /// Whether the connection can carry another request: the last exchange is complete, the server has neither closed
    /// the connection nor sent anything since.
    pub(super) fn is_idle(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.is_ready()
    }

    /// Sends a request and waits for the head of its response. The response may arrive before the whole request was
    /// sent; the rest is sent while the body is read.
    pub(super) async fn exchange(&mut self, request: LocalRequest) -> Result<LocalExchange, HttpError> {
        // Without a budget: at its end, a future asks to be polled again by the waker that it was given, which is none here.
        let mut responding = pin!(tokio::task::unconstrained(self.requests.try_send_request(request)));
        let outcome = poll_fn(|context| {
            self.drive(context);
            responding.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        });
        match outcome.await {
            Ok(response) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                Err(invalid(&"unexpected 101 Switching Protocols"))
            }
            Ok(response) => Ok(LocalExchange::Response(response)),
            Err(mut unsent) => match unsent.take_message() {
                Some(request) => Ok(LocalExchange::Unsent(request)),
                None => Err(failed(&unsent.into_error())),
            },
        }
    }

    /// Polls for the next part of a response body; `None` at its end.
    pub(super) fn poll_body(
        &mut self,
        body: &mut Incoming,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, HttpError>>> {
        let mut driven = false;
        loop {
            let mut take = || Pin::new(&mut *body).poll_frame(&mut Context::from_waker(Waker::noop()));
            let taken = match &self.driver {
                Some(driver) => driver.io_waker.quietly(take),
                None => take(),
            };
            match taken {
                Poll::Ready(Some(Ok(frame))) => {
                    // Trailers carry nothing that MCP uses.
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(failed(&error)))),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending if driven => return Poll::Pending,
                Poll::Pending => {
                    self.drive(context);
                    driven = true;
                }
            }
        }
    }

    /// Does the I/O that is possible now. Errors reach the pending response or body; an idle connection is closed.
    fn drive(&mut self, context: &mut Context<'_>) {
        let Some(driver) = &mut self.driver else { return };
        driver.io_waker.register(context.waker());
        if Pin::new(&mut driver.io).poll(&mut Context::from_waker(&driver.waker)).is_ready() {
            self.driver = None;
        }
    }
}

fn failed(error: &hyper::Error) -> HttpError {
    if error.is_parse() {
        return invalid(error);
    }
    if error.is_incomplete_message() {
        return HttpError::Broken("the server closed the connection before the response was complete".to_owned());
    }
    HttpError::Broken(root_cause(error))
}

fn invalid(reason: &dyn std::fmt::Display) -> HttpError {
    HttpError::Broken(format!("invalid HTTP response: {reason}"))
}
