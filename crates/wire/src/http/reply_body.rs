//! The body of a response: nothing, one text, or the frames of an event stream. It is written in pieces, to notice whether
//! the client reads it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use hyper::body::{Body, Frame, SizeHint};

use super::listener::Frames;
use crate::outbound::OutboundConnection;
use crate::sse;

/// How long an event stream may be silent before a comment is sent on it.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// HTTP/2 keeps a whole piece per stream, however little of it the client accepts.
const MAX_PIECE: usize = 64 * 1024;

pub(super) struct ReplyBody {
    /// What is left of the text or of the current frame.
    rest: Bytes,
    /// Whether this is something the client waits for, and no comment that only keeps the stream alive.
    is_message: bool,
    frames: Option<BoxStream<'static, (Bytes, bool)>>,
    connection: Arc<OutboundConnection>,
}

impl ReplyBody {
    pub(super) fn text(text: Bytes, connection: Arc<OutboundConnection>) -> Self {
        ReplyBody { rest: text, is_message: true, frames: None, connection }
    }

    /// The frames, with a comment whenever the stream was silent for a while.
    pub(super) fn events(frames: Frames, connection: Arc<OutboundConnection>) -> Self {
        let frames = stream::unfold(frames, |mut frames| async move {
            let frame = match tokio::time::timeout(KEEP_ALIVE_INTERVAL, frames.recv()).await {
                Ok(frame) => (frame?.into_bytes(), true),
                Err(_) => (Bytes::from_static(sse::KEEP_ALIVE.as_bytes()), false),
            };
            Some((frame, frames))
        });
        ReplyBody { rest: Bytes::new(), is_message: false, frames: Some(frames.boxed()), connection }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        while self.rest.is_empty() {
            let Some(frames) = &mut self.frames else { return Poll::Ready(None) };
            match ready!(frames.poll_next_unpin(cx)) {
                Some((frame, is_message)) => (self.rest, self.is_message) = (frame, is_message),
                None => self.frames = None,
            }
        }
        if self.is_message {
            self.connection.taken();
        }
        let size = self.rest.len().min(MAX_PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(size)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.frames.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.frames {
            None => SizeHint::with_exact(self.rest.len() as u64),
            Some(_) => SizeHint::new(),
        }
    }
}
