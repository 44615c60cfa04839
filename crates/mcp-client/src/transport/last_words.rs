//! The last lines that a server wrote to stderr.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// How many lines are kept: enough for the end of a stack trace.
const MAX_LINES: usize = 5;
const MAX_CHARACTERS: usize = 300;

/// The last lines of stderr, which often say why a server exited. Shown to the operator, never to clients.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastWords(Arc<Mutex<VecDeque<String>>>);

impl LastWords {
    pub(super) fn add(&self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let mut lines = self.0.lock();
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(line.trim_end().chars().take(MAX_CHARACTERS).collect());
    }

    pub(crate) fn forget(&self) {
        self.0.lock().clear();
    }

    /// The reason of a failure, followed by the lines: by a single one on the same line, by several on lines of their own.
    pub(crate) fn after(&self, reason: &str) -> String {
        let lines = self.0.lock();
        match lines.len() {
            0 => reason.to_owned(),
            1 => format!("{reason}; it last said: {}", lines[0].trim_start()),
            _ => {
                let indented: String = lines.iter().map(|line| format!("\n  {line}")).collect();
                format!("{reason}; it last said:{indented}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_follow_the_reason() {
        let words = LastWords::default();
        assert_eq!(words.after("it exited"), "it exited");
        words.add(" one ");
        words.add("  ");
        assert_eq!(words.after("it exited"), "it exited; it last said: one");
        (2..=6).for_each(|number| words.add(&number.to_string()));
        assert_eq!(words.after("it exited"), "it exited; it last said:\n  2\n  3\n  4\n  5\n  6");
        words.forget();
        assert_eq!(words.after("it exited"), "it exited");
    }
}
