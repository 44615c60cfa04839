//! The output of a command: all of the standard output, and of the standard error only what an error may show.

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::cli::logging;
use proxy_base::foreign_text::visible;
use proxy_builtins::redacted_text;

/// A value of 64 KiB and the newline behind it.
const MAX_BYTES: usize = (64 << 10) + 2;
/// How much of the end of the standard error is kept.
const KEPT_ERRORS: usize = 8 << 10;
/// The longest line in an error, in characters.
const LONGEST_LINE: usize = 200;
/// Shorter words of the output also occur in messages.
const MIN_WORD: usize = 6;

#[derive(Default)]
pub(super) struct CommandOutput {
    bytes: Vec<u8>,
    errors: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct TooMuchOutput;

impl CommandOutput {
    /// Reads both streams to their ends, unless there is more than a value may have.
    pub(super) async fn read(
        &mut self,
        output: impl AsyncRead + Unpin,
        errors: impl AsyncRead + Unpin,
    ) -> Result<(), TooMuchOutput> {
        let ends = tokio::try_join!(read_all(output, &mut self.bytes), read_end(errors, &mut self.errors));
        ends.map(drop)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The last line of the standard error, without secrets.
    pub(super) fn last_error_line(&self) -> Option<String> {
        let errors = String::from_utf8_lossy(&self.errors);
        let line = errors.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        let mut line = line.to_owned();
        for word in String::from_utf8_lossy(&self.bytes).split_whitespace().filter(|word| word.len() >= MIN_WORD) {
            line = line.replace(word, "•••");
        }
        let line = logging::without_secrets(&redacted_text(&line));
        let short: String = line.chars().take(LONGEST_LINE).collect();
        Some(visible(&short).into_owned())
    }
}

async fn read_all(mut stream: impl AsyncRead + Unpin, bytes: &mut Vec<u8>) -> Result<(), TooMuchOutput> {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        bytes.extend_from_slice(&buffer[..count]);
        if bytes.len() > MAX_BYTES {
            return Err(TooMuchOutput);
        }
    }
    Ok(())
}

async fn read_end(mut stream: impl AsyncRead + Unpin, bytes: &mut Vec<u8>) -> Result<(), TooMuchOutput> {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        bytes.extend_from_slice(&buffer[..count]);
        let surplus = bytes.len().saturating_sub(KEPT_ERRORS);
        bytes.drain(..surplus);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bytes: &str, errors: &str) -> Option<String> {
        let output = CommandOutput { bytes: bytes.into(), errors: errors.into() };
        output.last_error_line()
    }

    #[test]
    fn an_error_shows_the_last_line_without_what_the_command_printed() {
        assert_eq!(line("", ""), None);
        assert_eq!(line("", "one\ntwo \n\n").as_deref(), Some("two"));
        assert_eq!(line("half-of-a-s3cret", "no half-of-a-s3cret").as_deref(), Some("no •••"));
        let shown = line("", "bad key sk-abcdefghijklmnopqrstuvwx and password=hunter2x").unwrap();
        assert!(!shown.contains("abcdefghij") && !shown.contains("hunter2x"), "{shown}");
        assert_eq!(line("", "\u{1b}[31mred").as_deref(), Some(r"\u{1b}[31mred"));
        assert_eq!(line("", &"x".repeat(9000)).unwrap().len(), LONGEST_LINE);
    }
}
