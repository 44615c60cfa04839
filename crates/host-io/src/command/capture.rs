//! Captures an output stream up to a limit.

use tokio::io::{AsyncRead, AsyncReadExt};

/// A part of a stream that was read to its end, so that the command never blocks on a full pipe.
#[derive(Debug)]
pub(super) struct Capture {
    bytes: Vec<u8>,
    limit: usize,
    kept: KeptPart,
    truncated: bool,
}

/// Which part of a stream over the limit is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeptPart {
    Beginning,
    End,
    /// All of it: a stream over the limit is an error.
    All,
}

/// A stream is longer than it may be.
#[derive(Debug)]
pub(super) struct TooMuchOutput;

impl Capture {
    fn new(kept: KeptPart, limit: usize) -> Self {
        Capture { bytes: Vec::new(), limit, kept, truncated: false }
    }

    /// Keeps the first `limit` bytes.
    pub(super) fn beginning(limit: usize) -> Self {
        Capture::new(KeptPart::Beginning, limit)
    }

    /// Keeps the last `limit` bytes, or up to twice as many.
    pub(super) fn end(limit: usize) -> Self {
        Capture::new(KeptPart::End, limit)
    }

    /// Keeps everything, and fails if there are more than `limit` bytes.
    pub(super) fn all(limit: usize) -> Self {
        Capture::new(KeptPart::All, limit)
    }

    pub(super) async fn read(&mut self, mut stream: impl AsyncRead + Unpin) -> Result<(), TooMuchOutput> {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            self.add(&buffer[..count])?;
        }
        Ok(())
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), TooMuchOutput> {
        if self.kept == KeptPart::End {
            self.bytes.extend_from_slice(bytes);
            // Not at every read, which would move the kept bytes each time.
            if self.bytes.len() > 2 * self.limit {
                self.bytes.drain(..self.bytes.len() - self.limit);
                self.truncated = true;
            }
            return Ok(());
        }
        let kept = bytes.len().min(self.limit - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..kept]);
        self.truncated |= kept < bytes.len();
        if self.truncated && self.kept == KeptPart::All { Err(TooMuchOutput) } else { Ok(()) }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub(super) fn is_truncated(&self) -> bool {
        self.truncated
    }
}
