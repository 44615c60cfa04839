//! What an operator should know about a description: what was left out, and why.

use std::cell::RefCell;

const MAX_NOTES: usize = 50;

/// Collects lines, each once.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    lines: RefCell<Vec<String>>,
}

impl Notes {
    pub(crate) fn add(&self, line: String) {
        let mut lines = self.lines.borrow_mut();
        if lines.len() <= MAX_NOTES && !lines.contains(&line) {
            lines.push(line);
        }
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        let mut lines = self.lines.into_inner();
        if lines.len() > MAX_NOTES {
            lines.truncate(MAX_NOTES);
            lines.push("there is more of this kind".to_owned());
        }
        lines
    }
}
