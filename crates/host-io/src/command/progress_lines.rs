//! Progress that an executable writes to its descriptor 3: one JSON object per line.

use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::Instant;

/// A longer line is not progress.
const MAX_LINE: usize = 4 << 10;
/// How many reports are passed on in each [`WINDOW`]. The others are lost, as a client needs no more.
const MAX_REPORTS: usize = 50;
const WINDOW: Duration = Duration::from_secs(1);

/// One report.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandProgress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

impl CommandProgress {
    /// Parses a line such as `{"progress": 1, "total": 3, "message": "..."}`.
    fn parse(line: &[u8]) -> Option<Self> {
        let members: Value = serde_json::from_slice(line).ok()?;
        let done = members.get("progress")?.as_f64()?;
        let message = members.get("message").and_then(Value::as_str).map(str::to_owned);
        Some(CommandProgress { done, total: members.get("total").and_then(Value::as_f64), message })
    }
}

/// The lines of one command. Lines that are not progress are ignored.
pub(super) struct ProgressLines {
    pipe: Receiver,
    lines: LineBuffer,
    /// The last report. MCP wants growing values, so that a smaller one is no progress.
    last: Option<f64>,
    window: Instant,
    reported: usize,
}

impl ProgressLines {
    pub(super) fn new(pipe: Receiver) -> Self {
        ProgressLines { pipe, lines: LineBuffer::default(), last: None, window: Instant::now(), reported: 0 }
    }

    /// The next report; `None` once the command has closed the descriptor. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<CommandProgress> {
        loop {
            while let Some(line) = self.lines.next() {
                let report = CommandProgress::parse(&line);
                if report.is_none() {
                    self.lines.ignored += 1;
                }
                if let Some(report) = report.filter(|report| self.is_wanted(report)) {
                    return Some(report);
                }
            }
            self.lines.buffer.reserve(MAX_LINE);
            let count = self.pipe.read_buf(&mut self.lines.buffer).await.ok()?;
            if count == 0 {
                return None;
            }
        }
    }

    fn is_wanted(&mut self, report: &CommandProgress) -> bool {
        if self.last.is_some_and(|last| report.done <= last) {
            return false;
        }
        self.last = Some(report.done);
        if self.window.elapsed() >= WINDOW {
            (self.window, self.reported) = (Instant::now(), 0);
        }
        self.reported += 1;
        self.reported <= MAX_REPORTS
    }
}

impl Drop for ProgressLines {
    fn drop(&mut self) {
        if self.lines.ignored > 0 {
            let ignored = self.lines.ignored;
            tracing::warn!(ignored, "a command wrote lines to descriptor 3 that are not progress");
        }
    }
}

/// Splits bytes into lines of a limited length.
#[derive(Default)]
struct LineBuffer {
    buffer: Vec<u8>,
    /// Whether the current line is too long, and its beginning was dropped.
    is_skipping: bool,
    /// How many lines were too long or not progress.
    ignored: u64,
}

impl LineBuffer {
    /// Takes the next complete line that is not blank.
    fn next(&mut self) -> Option<Vec<u8>> {
        while let Some(end) = memchr::memchr(b'\n', &self.buffer) {
            let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
            line.pop();
            let is_rest = std::mem::take(&mut self.is_skipping);
            if is_rest || line.len() > MAX_LINE {
                self.ignored += 1;
            } else if !line.trim_ascii().is_empty() {
                return Some(line);
            }
        }
        if self.buffer.len() > MAX_LINE {
            self.buffer.clear();
            self.is_skipping = true;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(buffer: &mut LineBuffer, bytes: &[u8]) -> Vec<String> {
        buffer.buffer.extend_from_slice(bytes);
        std::iter::from_fn(|| buffer.next()).map(|line| String::from_utf8(line).unwrap()).collect()
    }

    #[test]
    fn lines_come_in_parts_and_long_ones_are_dropped() {
        let mut buffer = LineBuffer::default();
        assert_eq!(lines(&mut buffer, b"one\n\ntw"), ["one"]);
        assert_eq!(lines(&mut buffer, b"o\n"), ["two"]);
        for _ in 0..100 {
            assert!(lines(&mut buffer, &[b'x'; 1000]).is_empty());
            assert!(buffer.buffer.len() <= MAX_LINE);
        }
        assert_eq!(lines(&mut buffer, b"rest\nthree\n"), ["three"]);
        assert_eq!(buffer.ignored, 1);
    }

    #[test]
    fn a_line_is_progress_or_nothing() {
        let parsed = CommandProgress::parse(br#"{"progress": 1, "total": 3, "message": "half"}"#).unwrap();
        assert_eq!(parsed, CommandProgress { done: 1.0, total: Some(3.0), message: Some("half".into()) });
        let parsed = CommandProgress::parse(br#"{"progress": 0.5, "total": "x", "more": []}"#).unwrap();
        assert_eq!(parsed, CommandProgress { done: 0.5, total: None, message: None });
        for garbage in ["", "half", "1", "{}", r#"{"progress": "1"}"#, "[1]", "{\"progress\":"] {
            assert_eq!(CommandProgress::parse(garbage.as_bytes()), None, "{garbage}");
        }
    }
}
