//! Framing of messages: a length of four bytes, big-endian, and that many bytes of JSON.

use std::io::{self, Read, Write};

use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::message::{ToParent, ToWorker};

/// A worker could not hold a longer frame in its address space.
const MAX_FRAME_TO_WORKER: usize = 256 << 20;

fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - 4).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    Ok(bytes)
}

/// Sends a message to the proxy; the worker's side, which may block.
pub(in crate::sandbox) fn send_blocking(mut socket: impl Write, message: &ToParent) -> io::Result<()> {
    socket.write_all(&frame(message)?)
}

/// Receives the next message of the proxy; none when the proxy is gone. The worker's side, which may block.
pub(in crate::sandbox) fn receive_blocking(mut socket: impl Read) -> io::Result<Option<ToWorker>> {
    let mut length = [0; 4];
    if let Err(error) = socket.read_exact(&mut length) {
        return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) };
    }
    let length = u32::from_be_bytes(length) as usize;
    let mut bytes = vec![0; length.min(MAX_FRAME_TO_WORKER)];
    socket.read_exact(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

/// Sends a message to a worker.
pub(in crate::sandbox) async fn send(mut socket: impl AsyncWrite + Unpin, message: &ToWorker) -> io::Result<()> {
    socket.write_all(&frame(message)?).await
}

/// What came from a worker.
#[derive(Debug)]
pub(in crate::sandbox) enum Received {
    Message(ToParent),
    /// The worker has closed the connection.
    Closed,
    /// No message, and why not.
    Invalid(&'static str),
}

/// Receives the worker's next message of at most `max_bytes` bytes.
pub(in crate::sandbox) async fn receive(mut socket: impl AsyncRead + Unpin, max_bytes: usize) -> Received {
    let mut length = [0; 4];
    if socket.read_exact(&mut length).await.is_err() {
        return Received::Closed;
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > max_bytes {
        return Received::Invalid("frame too long");
    }
    let mut bytes = vec![0; length];
    if socket.read_exact(&mut bytes).await.is_err() {
        return Received::Closed;
    }
    if proxy_json::too_deep(&bytes) {
        return Received::Invalid("JSON nested too deeply");
    }
    match serde_json::from_slice(&bytes) {
        Ok(message) => Received::Message(message),
        Err(_) => Received::Invalid("not a message"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::protocol::WorkerRequest;

    fn framed(text: &[u8]) -> Vec<u8> {
        [&u32::try_from(text.len()).unwrap().to_be_bytes()[..], text].concat()
    }

    #[tokio::test]
    async fn a_hostile_worker_is_heard_only_within_bounds() {
        let call = |arguments: &str| {
            format!(r#"{{"Request":{{"at":"0","request":{{"Call":{{"tool":"t","arguments":{arguments}}}}}}}}}"#)
        };
        let deep = call(&format!("{}{}", "[".repeat(200), "]".repeat(200)));
        let invalid: [&[u8]; 5] = [b"", b"{}", b"\xff\xfe", br#"{"Request":{"at":0}}"#, deep.as_bytes()];
        for text in invalid {
            assert!(matches!(receive(&framed(text)[..], 1000).await, Received::Invalid(_)), "{text:?}");
        }
        assert!(matches!(receive(&u32::MAX.to_be_bytes()[..], 1000).await, Received::Invalid(_)));
        assert!(matches!(receive(&framed(b"{}")[..5], 1000).await, Received::Closed));
        let call = framed(call(r#"{"n":1.10}"#).as_bytes());
        let Received::Message(ToParent::Request { request: WorkerRequest::Call { arguments, .. }, .. }) =
            receive(&call[..], 1000).await
        else {
            panic!("it is a call")
        };
        assert_eq!(arguments.get(), r#"{"n":1.10}"#);
    }
}
