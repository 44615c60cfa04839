//! One connection: requests go out on it and answers come back, one after the other.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::AsyncWrite;
use tokio::net::TcpStream;
use tokio_util::io::poll_read_buf;

use super::framing::{Framing, Piece};
use super::head::Head;
use crate::wire::http::HttpError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// What is read at once, at least.
const ROOM: usize = 8 << 10;

#[derive(Debug)]
pub(super) struct Line {
    stream: TcpStream,
    /// What has come and was not looked at.
    buffer: BytesMut,
    /// What is still to be sent of the request.
    unsent: Bytes,
    /// Why it cannot be.
    failed: Option<String>,
}

impl Line {
    pub(super) async fn open((host, port): &(String, u16)) -> Result<Self, HttpError> {
        let refused = |error: std::io::Error| HttpError::Connect(error.to_string());
        let opened = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect((host.as_str(), *port))).await;
        let late = |_| HttpError::Connect(format!("no answer within {} s", CONNECT_TIMEOUT.as_secs()));
        let stream = opened.map_err(late)?.map_err(refused)?;
        stream.set_nodelay(true).map_err(refused)?;
        Ok(Line { stream, buffer: BytesMut::new(), unsent: Bytes::new(), failed: None })
    }

    /// Whether the other side still keeps it, and has said nothing unasked.
    pub(super) fn is_fresh(&self) -> bool {
        let looked = self.stream.try_read(&mut [0; 1]);
        self.buffer.is_empty() && looked.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }

    /// Whether all of the request was taken.
    pub(super) fn is_sent(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Sends what can be sent now. Where that fails the other side may still have said why before it closed the
    /// connection.
    fn send(&mut self, context: &mut Context<'_>) {
        while !self.unsent.is_empty() && self.failed.is_none() {
            match Pin::new(&mut self.stream).poll_write(context, &self.unsent) {
                Poll::Ready(Ok(0)) => self.failed = Some("the connection takes no more".to_owned()),
                Poll::Ready(Ok(length)) => self.unsent.advance(length),
                Poll::Ready(Err(error)) => self.failed = Some(error.to_string()),
                Poll::Pending => return,
            }
        }
    }

    /// Sends a request and waits for the head of its answer. That may come before all was sent; the rest goes out while
    /// the answer is read.
    pub(super) async fn exchange(&mut self, request: Vec<u8>) -> Result<Head, HttpError> {
        self.unsent = request.into();
        poll_fn(|context| {
            self.send(context);
            loop {
                match self.poll_read(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(0)) => {
                        let why = self.failed.take().unwrap_or_else(|| "it was closed before the answer".to_owned());
                        return Poll::Ready(Err(HttpError::Broken(why)));
                    }
                    Poll::Ready(Err(error)) => {
                        return Poll::Ready(Err(self.failed.take().map_or(error, HttpError::Broken)));
                    }
                    Poll::Ready(Ok(_)) => {}
                }
                if let Some(head) = Head::take(&mut self.buffer)? {
                    return Poll::Ready(Ok(head));
                }
            }
        })
        .await
    }

    /// The next piece of a body.
    pub(super) async fn piece(&mut self, body: &mut Framing) -> Result<Option<Bytes>, HttpError> {
        poll_fn(|context| {
            self.send(context);
            loop {
                match body.take(&mut self.buffer)? {
                    Piece::Data(data) => return Poll::Ready(Ok(Some(data))),
                    Piece::End => return Poll::Ready(Ok(None)),
                    Piece::Wait => {}
                }
                match self.poll_read(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(0)) if body.may_end() => return Poll::Ready(Ok(None)),
                    Poll::Ready(Ok(0)) => {
                        return Poll::Ready(Err(HttpError::Broken("it was closed within the answer".to_owned())));
                    }
                    Poll::Ready(Ok(_)) => {}
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                }
            }
        })
        .await
    }

    /// Reads what there is into the buffer.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Result<usize, HttpError>> {
        self.buffer.reserve(ROOM);
        let read = poll_read_buf(Pin::new(&mut self.stream), context, &mut self.buffer);
        read.map_err(|error| HttpError::Broken(error.to_string()))
    }
}
