//! Reads the lines of the prompt from a pipe.

use std::collections::VecDeque;

use crate::cli::output;
use proxy_author::prompt::{PromptOutput, PromptUi, StatementBuffer};

#[derive(Default)]
pub(super) struct PipedInput {
    pieces: StatementBuffer,
    ready: VecDeque<String>,
    ended: bool,
    /// Whether any line failed.
    pub(super) failed: bool,
}

impl PromptUi for PipedInput {
    fn next(&mut self, _names: &[String]) -> Option<String> {
        while self.ready.is_empty() && !self.ended {
            let mut line = String::new();
            match std::io::stdin().read_line(&mut line) {
                Ok(0) | Err(_) => {
                    self.ended = true;
                    self.ready.extend(self.pieces.finish());
                }
                Ok(_) => self.ready.extend(self.pieces.push(line.trim_end_matches(['\n', '\r']))),
            }
        }
        self.ready.pop_front()
    }

    fn show(&mut self, shown: PromptOutput) {
        match shown {
            PromptOutput::Value(text) | PromptOutput::Text(text) => output::data(&text),
            PromptOutput::Problem(problem) => {
                self.failed = true;
                output::diagnostics(&[*problem]);
            }
        }
    }
}
