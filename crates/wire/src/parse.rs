//! Parsing of messages without blocking the runtime thread on large ones.

use bytes::Bytes;

use super::{Message, MessageError, RpcError};
use proxy_fiber as fiber;
use proxy_json::RawRef;

/// Parses a message; a large one on tokio's blocking pool.
pub async fn parse(bytes: Bytes) -> Result<Message, MessageError> {
    let parsed = fiber::off_thread_if_large(bytes.len(), move || Message::parse(&bytes)).await;
    parsed.unwrap_or_else(|error| Err(MessageError { id: None, error: RpcError::internal(&error.to_string()) }))
}

/// Lets other tasks run before the next pass over a large body.
pub async fn yield_if_large(body: Option<&RawRef>) {
    fiber::yield_if_large(body.map_or(0, |body| body.get().len())).await;
}
