//! Reads the lines of the prompt from a terminal, with editing, history and completion.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Editor, Helper};

use crate::cli::failure::CommandFailure;
use crate::cli::{output, setup};
use proxy_author::prompt::{PromptOutput, PromptUi, StatementBuffer, completions};
use proxy_base::diagnostic::Diagnostic;
use proxy_base::foreign_text::visible;
use proxy_engine::gateway::Gateway;

const HISTORY_SIZE: usize = 1000;

pub(super) struct TerminalInput {
    editor: Editor<PromptHelper, FileHistory>,
    history: Option<PathBuf>,
    names: Arc<Mutex<Vec<String>>>,
    pieces: StatementBuffer,
    ready: VecDeque<String>,
}

impl TerminalInput {
    pub(super) fn open(gateway: Arc<Gateway>, root: PathBuf) -> Result<Self, CommandFailure> {
        let config = Config::builder().max_history_size(HISTORY_SIZE).map_err(unusable)?.auto_add_history(true).build();
        let mut editor = Editor::with_config(config).map_err(unusable)?;
        let names: Arc<Mutex<Vec<String>>> = Arc::default();
        editor.set_helper(Some(PromptHelper { gateway, root, names: Arc::clone(&names) }));
        let history = setup::state_folder().and_then(|folder| create_history(folder).ok());
        if let Some(history) = &history {
            // The file does not exist before the first session.
            let _ = editor.load_history(history);
        }
        output::err("`backends()` is live and calls are real. `:help` lists the commands, Ctrl-D exits.");
        Ok(TerminalInput { editor, history, names, pieces: StatementBuffer::default(), ready: VecDeque::new() })
    }

    pub(super) fn close(&mut self) {
        if let Some(history) = &self.history
            && let Err(error) = self.editor.save_history(history)
        {
            output::err(&format!("cannot save the history: {error}"));
        }
    }
}

fn unusable(error: ReadlineError) -> CommandFailure {
    CommandFailure::failed(Diagnostic::error(format!("cannot use the terminal: {error}")))
}

/// Creates the history file, readable only by the user because lines may contain secrets.
fn create_history(folder: PathBuf) -> std::io::Result<PathBuf> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("repl_history");
    std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(&file)?;
    Ok(file)
}

impl PromptUi for TerminalInput {
    fn next(&mut self, names: &[String]) -> Option<String> {
        *self.names.lock() = names.to_vec();
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            let prompt = if self.pieces.is_empty() { ">>> " } else { "... " };
            match self.editor.readline(prompt) {
                Ok(line) => self.ready.extend(self.pieces.push(&line)),
                // Ctrl-C at the prompt discards an unfinished block.
                Err(ReadlineError::Interrupted) => self.pieces.clear(),
                Err(_) => return None,
            }
        }
    }

    fn show(&mut self, shown: PromptOutput) {
        match shown {
            PromptOutput::Value(text) | PromptOutput::Text(text) => output::data(&text),
            PromptOutput::Problem(problem) => output::diagnostics(&[*problem]),
        }
    }
}

struct PromptHelper {
    gateway: Arc<Gateway>,
    /// The folder that `load("//...")` refers to.
    root: PathBuf,
    names: Arc<Mutex<Vec<String>>>,
}

impl Completer for PromptHelper {
    type Candidate = String;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let names = self.names.lock();
        let (start, mut found) = completions(&line[..position], &self.gateway, &self.root, &names);
        // The editor prints them as they are.
        found.retain(|name| visible(name) == name.as_str());
        Ok((start, found))
    }
}

impl Hinter for PromptHelper {
    type Hint = String;
}

impl Highlighter for PromptHelper {}

impl Validator for PromptHelper {}

impl Helper for PromptHelper {}
