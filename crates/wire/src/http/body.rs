//! Reads the body of a request, up to a limit.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body;

/// How much of a body over the limit is read and discarded, as a multiple of the limit.
const DISCARD_FACTOR: usize = 8;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    TooLarge,
    Broken,
}

/// Reads a body. A body over the limit is read on for a while and discarded: a sender that is cut off in the middle sees
/// a broken connection and never the response that says why.
pub(super) async fn read(mut body: impl Body<Data = Bytes> + Unpin, limit: usize) -> Result<Bytes, BodyError> {
    let announced = body.size_hint().exact().and_then(|size| usize::try_from(size).ok());
    let (mut collected, mut length) = (BytesMut::new(), 0usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| BodyError::Broken)?;
        let Ok(data) = frame.into_data() else { continue };
        if announced == Some(data.len()) && data.len() <= limit {
            // Most bodies arrive in one frame and need no copy.
            return Ok(data);
        }
        length = length.saturating_add(data.len());
        if length <= limit {
            if collected.is_empty() {
                // Memory that is reserved and never written costs only address space.
                collected.reserve(announced.unwrap_or_default().min(limit));
            }
            collected.extend_from_slice(&data);
        } else if length > limit.saturating_mul(DISCARD_FACTOR) {
            break;
        } else {
            collected = BytesMut::new();
        }
    }
    if length > limit { Err(BodyError::TooLarge) } else { Ok(collected.freeze()) }
}

#[cfg(test)]
mod tests {
    use http_body_util::{Empty, Full};

    use super::*;

    #[tokio::test]
    async fn a_body_is_read_whole_or_not_at_all() {
        assert_eq!(read(Full::from("1234"), 4).await.unwrap(), "1234");
        assert_eq!(read(Full::from("12345"), 4).await, Err(BodyError::TooLarge));
        assert_eq!(read(Empty::new(), 4).await.unwrap(), "");
    }
}
