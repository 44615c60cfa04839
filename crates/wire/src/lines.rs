//! Line framing, one message per line: a reader with a size limit and a writer that batches.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A line that was read.
#[derive(Debug, PartialEq, Eq)]
pub enum InputLine<'a> {
    Text(&'a [u8]),
    /// A line over the size limit. Its beginning and end are enough to find the request that it answers.
    TooLong {
        head: Vec<u8>,
        tail: Vec<u8>,
        length: usize,
    },
}

/// How much of either end of a line over the limit is kept.
const KEPT_BYTES: usize = 512;
/// Lines up to this length are copied, so that several are written at once.
const MAX_COPIED: usize = 64 * 1024;
/// The least free space of the buffer before a read.
const READ_SIZE: usize = 64 * 1024;

/// Splits a byte stream into lines of at most `max_length` bytes, white space around them included. Tolerates CRLF, empty
/// lines and a leading BOM.
#[derive(Debug)]
pub struct LineReader<R> {
    stream: R,
    buffer: Vec<u8>,
    /// Where the current line begins in the buffer.
    start: usize,
    /// Up to where the buffer was searched for a line break.
    scanned: usize,
    max_length: usize,
    /// Whether the current line is the first, which may begin with a BOM.
    is_first: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(stream: R, max_length: usize) -> Self {
        LineReader { stream, buffer: Vec::new(), start: 0, scanned: 0, max_length, is_first: true }
    }

    /// The next line that is not blank; `None` at the end of the stream.
    pub async fn next(&mut self) -> io::Result<Option<InputLine<'_>>> {
        loop {
            if let Some(offset) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) {
                let end = self.scanned + offset;
                let (whole, is_first) = (self.start..end, self.is_first);
                (self.start, self.scanned, self.is_first) = (end + 1, end + 1, false);
                // Before it is trimmed, because of a line that is read in parts only that length is known.
                if whole.len() > self.max_length.max(KEPT_BYTES) {
                    let line = &self.buffer[whole];
                    return Ok(Some(InputLine::TooLong {
                        head: line[..KEPT_BYTES].to_vec(),
                        tail: line[line.len() - KEPT_BYTES..].to_vec(),
                        length: line.len(),
                    }));
                }
                let range = trimmed(&self.buffer, whole.start, whole.end, is_first);
                if range.is_empty() {
                    continue;
                }
                return Ok(Some(InputLine::Text(&self.buffer[range])));
            }
            self.scanned = self.buffer.len();
            if self.scanned - self.start > self.max_length.max(KEPT_BYTES) {
                return self.skip_long_line().await;
            }
            if !self.fill().await? {
                // A last line without a line break is a truncated message.
                return Ok(None);
            }
        }
    }

    /// Reads more into the buffer; false at the end of the stream.
    async fn fill(&mut self) -> io::Result<bool> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        self.buffer.reserve(READ_SIZE);
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }

    /// Reads a line over the limit to its end without keeping its middle.
    async fn skip_long_line(&mut self) -> io::Result<Option<InputLine<'_>>> {
        let head = self.buffer[self.start..self.start + KEPT_BYTES].to_vec();
        let mut length = self.buffer.len() - self.start;
        let mut tail = self.buffer[self.buffer.len() - KEPT_BYTES..].to_vec();
        self.buffer.clear();
        (self.start, self.scanned, self.is_first) = (0, 0, false);
        loop {
            if !self.fill().await? {
                return Ok(None);
            }
            let end = memchr::memchr(b'\n', &self.buffer);
            let part = &self.buffer[..end.unwrap_or(self.buffer.len())];
            length += part.len();
            tail.extend_from_slice(&part[part.len().saturating_sub(KEPT_BYTES)..]);
            tail.drain(..tail.len() - KEPT_BYTES);
            match end {
                Some(end) => {
                    (self.start, self.scanned) = (end + 1, end + 1);
                    return Ok(Some(InputLine::TooLong { head, tail, length }));
                }
                None => self.buffer.clear(),
            }
        }
    }
}

/// The range of a line without white space around it.
fn trimmed(buffer: &[u8], start: usize, end: usize, is_first: bool) -> std::ops::Range<usize> {
    let start = if is_first && buffer[start..end].starts_with(b"\xEF\xBB\xBF") { start + 3 } else { start };
    let line = &buffer[start..end];
    let leading = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let trailing = line[leading..].iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
    start + leading..end - trailing
}

/// The queue of a [`line_writer`]. It is bounded, so that a peer that does not read blocks only its own senders.
pub type LineSender = mpsc::Sender<String>;

/// Writes lines until every sender is dropped, the queue is closed by the token, or the stream fails. What is in the queue
/// by then is written. Queued lines are written together; a line is dropped when it is written.
pub async fn line_writer<L: AsRef<[u8]>>(
    mut stream: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<L>,
    close: CancellationToken,
) -> io::Result<()> {
    let mut lines = Vec::with_capacity(64);
    let mut buffer = Vec::with_capacity(16 * 1024);
    loop {
        tokio::select! {
            biased;
            received = queue.recv_many(&mut lines, 64) => if received == 0 { break },
            () = close.cancelled(), if !queue.is_closed() => {
                queue.close();
                continue;
            }
        }
        for line in &lines {
            let line = line.as_ref();
            if line.len() > MAX_COPIED {
                stream.write_all(&buffer).await?;
                buffer.clear();
                stream.write_all(line).await?;
            } else {
                buffer.extend_from_slice(line);
            }
            buffer.push(b'\n');
        }
        stream.write_all(&buffer).await?;
        stream.flush().await?;
        buffer.clear();
        lines.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_queue_that_is_closed_is_written_to_its_end_although_a_sender_lives() {
        let (sender, queue) = mpsc::channel(4);
        let close = CancellationToken::new();
        sender.send("one").await.unwrap();
        sender.send("two").await.unwrap();
        close.cancel();
        let mut written = Vec::new();
        line_writer(&mut written, queue, close).await.unwrap();
        assert_eq!(written, b"one\ntwo\n");
        assert!(sender.send("three").await.is_err());
    }

    async fn lines(input: &[u8], max_length: usize) -> Vec<String> {
        let mut reader = LineReader::new(input, max_length);
        let mut seen = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            seen.push(match line {
                InputLine::Text(text) => String::from_utf8_lossy(text).into_owned(),
                InputLine::TooLong { head, tail, length } => format!(
                    "long {length} {}..{}",
                    String::from_utf8_lossy(&head[..3]),
                    String::from_utf8_lossy(&tail[tail.len() - 3..])
                ),
            });
        }
        seen
    }

    #[tokio::test]
    async fn crlf_empty_lines_and_a_bom_are_tolerated() {
        assert_eq!(lines(b"\xEF\xBB\xBFone\r\n\r\n\n  two  \nrest", 100).await, ["one", "two"]);
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_skipped_and_the_next_one_is_read() {
        let long = format!("abc{}xyz\nnext\n", "-".repeat(300_000));
        assert_eq!(lines(long.as_bytes(), 1000).await, ["long 300006 abc..xyz", "next"]);
        let shorter = format!("abc{}xyz\nnext\n", "-".repeat(3000));
        assert_eq!(lines(shorter.as_bytes(), 1000).await, ["long 3006 abc..xyz", "next"]);
    }
}
