//! What a server's process writes to stderr: it goes to the log, and the last lines are kept as its last words.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::process::ChildStderr;

use super::last_words::LastWords;
use proxy_wire::{InputLine, LineReader};

/// Characters of one line that are logged.
const MAX_LOGGED_LINE: usize = 4 << 10;
/// Lines that are kept of a process that may turn out to be of no use.
const MAX_HELD_LINES: usize = 200;

/// The log of one process.
#[derive(Debug)]
pub(crate) struct StderrLog {
    server: Arc<str>,
    last_words: Option<LastWords>,
    /// The lines so far of a process that is only tried; `None` if lines are logged at once.
    held: Mutex<Option<Vec<String>>>,
}

impl StderrLog {
    pub(crate) fn new(server: &Arc<str>, last_words: &LastWords) -> Arc<Self> {
        let last_words = Some(last_words.clone());
        Arc::new(StderrLog { server: Arc::clone(server), last_words, held: Mutex::default() })
    }

    /// For a process that is only tried: logs nothing before [`StderrLog::release`].
    pub(crate) fn held(server: &Arc<str>) -> Arc<Self> {
        Arc::new(StderrLog { server: Arc::clone(server), last_words: None, held: Mutex::new(Some(Vec::new())) })
    }

    /// Logs the lines so far, and all further ones at once.
    pub(super) fn release(&self) {
        for line in self.held.lock().take().into_iter().flatten() {
            self.write(&line);
        }
    }

    /// Logs what the process writes until it closes stderr.
    pub(super) async fn follow(self: Arc<Self>, stderr: ChildStderr, max_line_bytes: usize) {
        let mut lines = LineReader::new(stderr, max_line_bytes);
        while let Ok(Some(line)) = lines.next().await {
            match line {
                InputLine::Text(text) => self.add(&String::from_utf8_lossy(text)),
                InputLine::TooLong { length, .. } => self.log(format!("a line of {length} bytes")),
            }
        }
    }

    fn add(&self, text: &str) {
        if let Some(last_words) = &self.last_words {
            last_words.add(text);
        }
        self.log(match text.char_indices().nth(MAX_LOGGED_LINE) {
            None => text.to_owned(),
            Some((end, _)) => format!("{}... (a line of {} bytes)", &text[..end], text.len()),
        });
    }

    fn log(&self, line: String) {
        match &mut *self.held.lock() {
            None => self.write(&line),
            Some(held) if held.len() < MAX_HELD_LINES => held.push(line),
            Some(_) => {}
        }
    }

    fn write(&self, line: &str) {
        tracing::debug!(target: "server", server = %self.server, "{line}");
    }
}
