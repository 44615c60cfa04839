//! A TCP stream that still reads after a failed write. A server may answer a long request before it has read all of it
//! (401, 404, 413) and then close the connection. The write then fails although the response has arrived; hyper would
//! report the write error and drop the response.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

#[derive(Debug)]
pub(super) struct EarlyResponseStream {
    stream: TcpStream,
    /// The first write error. It is reported when there is nothing left to read.
    write_error: Option<io::Error>,
}

impl EarlyResponseStream {
    pub(super) fn new(stream: TcpStream) -> Self {
        EarlyResponseStream { stream, write_error: None }
    }

    /// Keeps a write error for later and reports the bytes as written; everything else passes.
    fn written(&mut self, outcome: Poll<io::Result<usize>>, length: usize) -> Poll<io::Result<usize>> {
        match outcome {
            Poll::Ready(Err(error)) => {
                self.write_error = Some(error);
                Poll::Ready(Ok(length))
            }
            other => other,
        }
    }
}

impl AsyncRead for EarlyResponseStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        match outcome {
            Poll::Ready(Ok(())) if buffer.filled().len() == before => {
                Poll::Ready(self.write_error.take().map_or(Ok(()), Err))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(self.write_error.take().unwrap_or(error))),
            other => other,
        }
    }
}

impl AsyncWrite for EarlyResponseStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.write_error.is_some() {
            return Poll::Ready(Ok(bytes.len()));
        }
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(outcome, bytes.len())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = parts.iter().map(|part| part.len()).sum();
        if self.write_error.is_some() {
            return Poll::Ready(Ok(length));
        }
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.written(outcome, length)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// A TCP stream has no buffer of its own.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
