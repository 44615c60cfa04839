//! What parent and worker say to each other: frames of a length and JSON.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::json::Raw;

/// Lines of control that a script may have in its life.
pub(super) const MOST_BRANCHES: usize = 10_000;

/// Longer frames to a worker are not sent: it could not hold what is in them.
const LARGEST_TO_WORKER: usize = 256 << 20;

/// A script with all that it runs with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    pub source: String,
    /// What the script finds as `data`.
    pub data: Raw,
    pub functions: Vec<Function>,
    pub steps: u64,
    pub memory: u64,
    pub output: u64,
    /// Branches of one `parallel` that run at once.
    pub branches: usize,
}

/// A tool that can be called as a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    pub identifier: String,
    pub tool: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToWorker {
    Job(Box<Job>),
    /// The answer to the question at that position.
    Answer {
        at: String,
        value: Raw,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToParent {
    WorkerRequest {
        at: String,
        want: WorkerRequest,
    },
    /// A line that came from a fork has ended.
    End {
        line: String,
    },
    /// More of what the script printed.
    Printed(String),
    Done(ScriptResult),
}

/// What a line of control of a script wants at a position.
#[derive(Debug, Serialize, Deserialize)]
pub enum WorkerRequest {
    Call {
        tool: String,
        arguments: Raw,
    },
    Search {
        query: String,
        limit: usize,
    },
    /// From here on so many lines go on beside each other, at most `limit` at once; this one waits for them.
    Fork {
        count: usize,
        limit: usize,
    },
}

/// How a script ended by itself: what it returned, or what went wrong in it.
pub type ScriptResult = Result<Raw, Fault>;

/// What went wrong in a script.
#[derive(Debug, Serialize, Deserialize)]
pub struct Fault {
    pub message: String,
    /// Counted from 1.
    pub line: Option<usize>,
    pub hint: Option<String>,
}

fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - 4).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    Ok(bytes)
}

/// The worker's side: it has threads enough to block.
pub(super) fn send(mut pipe: impl Write, message: &ToParent) -> io::Result<()> {
    pipe.write_all(&frame(message)?)
}

/// The next message of the parent; none when it is gone.
pub(super) fn receive(mut pipe: impl Read) -> io::Result<Option<ToWorker>> {
    let mut length = [0; 4];
    if let Err(error) = pipe.read_exact(&mut length) {
        return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) };
    }
    let length = u32::from_be_bytes(length) as usize;
    let mut bytes = vec![0; length.min(LARGEST_TO_WORKER)];
    pipe.read_exact(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

pub(super) async fn tell(mut pipe: impl AsyncWrite + Unpin, message: &ToWorker) -> io::Result<()> {
    pipe.write_all(&frame(message)?).await
}

/// What a worker said, before it is looked at.
#[derive(Debug)]
pub(super) enum Heard {
    Message(ToParent),
    Gone,
    Nonsense(&'static str),
}

/// Reads the worker's next message, of at most so many bytes.
pub(super) async fn listen(mut pipe: impl AsyncRead + Unpin, largest: usize) -> Heard {
    let mut length = [0; 4];
    if pipe.read_exact(&mut length).await.is_err() {
        return Heard::Gone;
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > largest {
        return Heard::Nonsense("it sent more than it may");
    }
    let mut bytes = vec![0; length];
    if pipe.read_exact(&mut bytes).await.is_err() {
        return Heard::Gone;
    }
    if crate::json::too_deep(&bytes) {
        return Heard::Nonsense("it sent something nested too deeply");
    }
    match serde_json::from_slice(&bytes) {
        Ok(message) => Heard::Message(message),
        Err(_) => Heard::Nonsense("it sent something that is no message"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(text: &[u8]) -> Vec<u8> {
        [&u32::try_from(text.len()).unwrap().to_be_bytes()[..], text].concat()
    }

    #[tokio::test]
    async fn a_hostile_worker_is_heard_only_within_bounds() {
        let call = |arguments: &str| {
            format!(r#"{{"WorkerRequest":{{"at":"0","want":{{"Call":{{"tool":"t","arguments":{arguments}}}}}}}}}"#)
        };
        let deep = call(&format!("{}{}", "[".repeat(200), "]".repeat(200)));
        let nonsense: [&[u8]; 5] = [b"", b"{}", b"\xff\xfe", br#"{"WorkerRequest":{"at":0}}"#, deep.as_bytes()];
        for text in nonsense {
            assert!(matches!(listen(&framed(text)[..], 1000).await, Heard::Nonsense(_)), "{text:?}");
        }
        assert!(matches!(listen(&u32::MAX.to_be_bytes()[..], 1000).await, Heard::Nonsense(_)));
        assert!(matches!(listen(&framed(b"{}")[..5], 1000).await, Heard::Gone));
        let call = framed(call(r#"{"n":1.10}"#).as_bytes());
        let Heard::Message(ToParent::WorkerRequest { want: WorkerRequest::Call { arguments, .. }, .. }) =
            listen(&call[..], 1000).await
        else {
            panic!("it is a call")
        };
        assert_eq!(arguments.get(), r#"{"n":1.10}"#);
    }
}
