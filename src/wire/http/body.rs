//! The body of a request, up to a limit.

use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

/// So much of a body that is too large is still taken off the socket, as a multiple of what is allowed.
const PATIENCE: usize = 8;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    TooLarge,
    Broken,
}

/// Reads a body. One that is too large is read on for a while without keeping it: a sender that is cut off in the
/// middle sees a broken connection and never the answer that says why.
pub(super) async fn read(mut body: Body, limit: usize) -> Result<Bytes, BodyError> {
    let whole = body.size_hint().exact().and_then(|size| usize::try_from(size).ok());
    let (mut kept, mut length) = (BytesMut::new(), 0usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| BodyError::Broken)?;
        let Ok(data) = frame.into_data() else { continue };
        if whole == Some(data.len()) && data.len() <= limit {
            // Most come in one piece, which need not be copied.
            return Ok(data);
        }
        length = length.saturating_add(data.len());
        if length <= limit {
            if kept.is_empty() {
                // What is only announced costs address space and no memory.
                kept.reserve(whole.unwrap_or_default().min(limit));
            }
            kept.extend_from_slice(&data);
        } else if length > limit.saturating_mul(PATIENCE) {
            break;
        } else {
            kept = BytesMut::new();
        }
    }
    if length > limit { Err(BodyError::TooLarge) } else { Ok(kept.freeze()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_is_read_whole_or_not_at_all() {
        assert_eq!(read(Body::from("1234"), 4).await.unwrap(), "1234");
        assert_eq!(read(Body::from("12345"), 4).await, Err(BodyError::TooLarge));
        assert_eq!(read(Body::empty(), 4).await.unwrap(), "");
    }
}
