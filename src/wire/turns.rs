//! A long message takes a while to read, and the thread that serves everybody must not be what reads it. It is checked
//! elsewhere; between the glances that are left the others get a turn.

use bytes::Bytes;

use super::{Fault, Message, RpcError};
use crate::json::RawRef;

/// Shorter ones are read in less time than a turn takes.
const LONG: usize = 128 << 10;

/// Reads a message, a long one on another thread.
pub async fn parse(bytes: Bytes) -> Result<Message, Fault> {
    if bytes.len() <= LONG {
        return Message::parse(&bytes);
    }
    let parsed = tokio::task::spawn_blocking(move || Message::parse(&bytes)).await;
    parsed.unwrap_or_else(|error| Err(Fault { id: None, error: RpcError::internal(&error.to_string()) }))
}

pub async fn yield_if_large(body: Option<&RawRef>) {
    if body.is_some_and(|body| body.get().len() > LONG) {
        tokio::task::yield_now().await;
    }
}
