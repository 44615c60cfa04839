//! Lines from a person: editing, history, completion.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Editor, Helper};

use super::super::failure::Failure;
use super::super::{output, setup};
use crate::author::prompt::{Person, Pieces, Shown, completions};
use crate::diagnostic::Diagnostic;
use crate::gateway::Gateway;

const REMEMBERED: usize = 1000;

pub(super) struct Terminal {
    editor: Editor<Helping, FileHistory>,
    history: Option<PathBuf>,
    names: Arc<Mutex<Vec<String>>>,
    pieces: Pieces,
    ready: VecDeque<String>,
}

impl Terminal {
    pub(super) fn open(gateway: Arc<Gateway>, root: PathBuf) -> Result<Self, Failure> {
        let config = Config::builder().max_history_size(REMEMBERED).map_err(broken)?.auto_add_history(true).build();
        let mut editor = Editor::with_config(config).map_err(broken)?;
        let names: Arc<Mutex<Vec<String>>> = Arc::default();
        editor.set_helper(Some(Helping { gateway, root, names: Arc::clone(&names) }));
        let history = setup::state_folder().and_then(|folder| prepared(folder).ok());
        if let Some(history) = &history {
            // The first time there is none.
            let _ = editor.load_history(history);
        }
        output::err("`backends()` is live, and calls are real. `:help` says what there is, Ctrl-D ends.");
        Ok(Terminal { editor, history, names, pieces: Pieces::default(), ready: VecDeque::new() })
    }

    pub(super) fn close(&mut self) {
        if let Some(history) = &self.history
            && let Err(error) = self.editor.save_history(history)
        {
            output::err(&format!("the history was not kept: {error}"));
        }
    }
}

fn broken(error: ReadlineError) -> Failure {
    Failure::failed(Diagnostic::error(format!("the terminal cannot be used: {error}")))
}

/// The file of the history, for the user's eyes only: lines may hold secrets.
fn prepared(folder: PathBuf) -> std::io::Result<PathBuf> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("repl_history");
    std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(&file)?;
    Ok(file)
}

impl Person for Terminal {
    fn next(&mut self, names: &[String]) -> Option<String> {
        *self.names.lock().unwrap_or_else(PoisonError::into_inner) = names.to_vec();
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            let sign = if self.pieces.is_empty() { ">>> " } else { "... " };
            match self.editor.readline(sign) {
                Ok(line) => self.ready.extend(self.pieces.push(&line)),
                // Ctrl-C at the prompt forgets what was begun.
                Err(ReadlineError::Interrupted) => self.pieces.clear(),
                Err(_) => return None,
            }
        }
    }

    fn show(&mut self, shown: Shown) {
        match shown {
            Shown::Value(text) | Shown::Text(text) => output::out(&text),
            Shown::Problem(problem) => output::diagnostics(&[*problem]),
        }
    }
}

struct Helping {
    gateway: Arc<Gateway>,
    /// Where `load("//...")` begins.
    root: PathBuf,
    names: Arc<Mutex<Vec<String>>>,
}

impl Completer for Helping {
    type Candidate = String;

    fn complete(&self, line: &str, place: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(completions(&line[..place], &self.gateway, &self.root, &names))
    }
}

impl Hinter for Helping {
    type Hint = String;
}

impl Highlighter for Helping {}

impl Validator for Helping {}

impl Helper for Helping {}
