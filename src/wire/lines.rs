//! One message per line: a capped reader and a batching writer.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// A line as it came in.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Text(&'a [u8]),
    /// Longer than the cap. Its beginning and end are kept, so that the one it answers can still be found.
    TooLong {
        head: Vec<u8>,
        tail: Vec<u8>,
        length: usize,
    },
}

const KEPT: usize = 512;
const CHUNK: usize = 64 * 1024;

/// Splits a byte stream into lines of at most `cap` bytes. Tolerates CRLF, empty lines and a leading BOM.
#[derive(Debug)]
pub struct LineReader<R> {
    stream: R,
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    cap: usize,
    first: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(stream: R, cap: usize) -> Self {
        LineReader { stream, buffer: Vec::new(), start: 0, scanned: 0, cap, first: true }
    }

    /// The next line that is not empty; `None` at the end of the stream.
    pub async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            if let Some(offset) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) {
                let end = self.scanned + offset;
                let range = trimmed(&self.buffer, self.start, end, self.first);
                (self.start, self.scanned, self.first) = (end + 1, end + 1, false);
                if range.is_empty() {
                    continue;
                }
                if range.len() > self.cap {
                    let line = &self.buffer[range];
                    return Ok(Some(Line::TooLong {
                        head: line[..KEPT.min(line.len())].to_vec(),
                        tail: line[line.len().saturating_sub(KEPT)..].to_vec(),
                        length: line.len(),
                    }));
                }
                return Ok(Some(Line::Text(&self.buffer[range])));
            }
            self.scanned = self.buffer.len();
            if self.scanned - self.start > self.cap.max(KEPT) {
                return self.skip_long_line().await;
            }
            if !self.fill().await? {
                // An unterminated last line is a message cut off in the middle.
                return Ok(None);
            }
        }
    }

    async fn fill(&mut self) -> io::Result<bool> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        self.buffer.reserve(CHUNK);
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }

    async fn skip_long_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let head = self.buffer[self.start..self.start + KEPT].to_vec();
        let mut length = self.buffer.len() - self.start;
        let mut tail = self.buffer[self.buffer.len() - KEPT..].to_vec();
        self.buffer.clear();
        (self.start, self.scanned, self.first) = (0, 0, false);
        loop {
            if !self.fill().await? {
                return Ok(None);
            }
            let end = memchr::memchr(b'\n', &self.buffer);
            let part = &self.buffer[..end.unwrap_or(self.buffer.len())];
            length += part.len();
            tail.extend_from_slice(&part[part.len().saturating_sub(KEPT)..]);
            tail.drain(..tail.len() - KEPT);
            match end {
                Some(end) => {
                    (self.start, self.scanned) = (end + 1, end + 1);
                    return Ok(Some(Line::TooLong { head, tail, length }));
                }
                None => self.buffer.clear(),
            }
        }
    }
}

fn trimmed(buffer: &[u8], start: usize, end: usize, first: bool) -> std::ops::Range<usize> {
    let start = if first && buffer[start..end].starts_with(b"\xEF\xBB\xBF") { start + 3 } else { start };
    let line = &buffer[start..end];
    let leading = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let trailing = line[leading..].iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
    start + leading..end - trailing
}

/// The way to a [`line_writer`]: bounded, so that a peer that does not read holds up its own senders only.
pub type LineSender = mpsc::Sender<String>;

/// Writes lines until every sender is gone or the stream breaks. What is queued together is written together.
pub async fn line_writer(stream: impl AsyncWrite + Unpin, queue: mpsc::Receiver<String>) -> io::Result<()> {
    let (mut stream, mut queue) = (stream, queue);
    let mut lines = Vec::with_capacity(64);
    let mut buffer = Vec::with_capacity(16 * 1024);
    while queue.recv_many(&mut lines, 64).await > 0 {
        for line in lines.drain(..) {
            buffer.extend_from_slice(line.as_bytes());
            buffer.push(b'\n');
        }
        stream.write_all(&buffer).await?;
        stream.flush().await?;
        buffer.clear();
        buffer.shrink_to(1024 * 1024);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], cap: usize) -> Vec<String> {
        let mut reader = LineReader::new(input, cap);
        let mut seen = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            seen.push(match line {
                Line::Text(text) => String::from_utf8_lossy(text).into_owned(),
                Line::TooLong { head, tail, length } => format!(
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
    async fn a_line_over_the_cap_is_skipped_and_the_next_one_is_read() {
        let long = format!("abc{}xyz\nnext\n", "-".repeat(300_000));
        assert_eq!(lines(long.as_bytes(), 1000).await, ["long 300006 abc..xyz", "next"]);
        let shorter = format!("abc{}xyz\nnext\n", "-".repeat(3000));
        assert_eq!(lines(shorter.as_bytes(), 1000).await, ["long 3006 abc..xyz", "next"]);
    }
}
