//! The user at the terminal as the peer of a call: shows progress and handles elicitation.

mod dialog;
mod line_prompt;
mod progress;

use std::io::IsTerminal;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::admin::EmbeddingProgress;
use crate::cli::output;
use dialog::Dialog;
pub(super) use line_prompt::asked;
use progress::ProgressLine;
use proxy_json::{Raw, RawRef, raw};
use proxy_mcp_client::{Peer, Question, SessionEnd, SoleClient};
use proxy_model::{Abilities, ClientProfile, Era, Owner, PersonKey};
use proxy_wire::{LoggingLevel, RpcError};

/// The user at the terminal as the only client. The profile declares elicitation, so servers list everything for it.
pub(super) fn client() -> SoleClient {
    SoleClient { profile: ClientProfile::TERMINAL, peer: None }
}

/// The elicitation modes that the user at the terminal supports now.
pub(super) fn askable() -> Abilities {
    if is_interactive() { ClientProfile::TERMINAL.abilities } else { Abilities::NONE }
}

/// Whether the command can ask on standard error and read the answer from standard input.
fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// The user at the terminal, if standard error is a terminal.
pub(super) fn user() -> Option<Arc<TerminalUser>> {
    let visible = std::io::stderr().is_terminal();
    visible.then(|| Arc::new(TerminalUser { owner: Owner::new_connection(), askable: askable() }))
}

/// Shows how many tools have been embedded, if standard error is a terminal.
pub(super) fn embedding_progress() -> EmbeddingProgress {
    let is_visible = std::io::stderr().is_terminal() && !output::is_quiet();
    Box::new(move |done, total| {
        if is_visible {
            let message = "tools read for semantic search (once, then cached)";
            PROGRESS.show(&raw(&json!({"progress": done, "total": total, "message": message})));
        }
    })
}

/// Removes the progress line, before the result is printed.
pub(super) fn clear_progress() {
    PROGRESS.clear();
}

/// The progress of all calls of this command.
static PROGRESS: ProgressLine = ProgressLine::new();

#[derive(Debug)]
pub(super) struct TerminalUser {
    owner: Owner,
    askable: Abilities,
}

impl Peer for TerminalUser {
    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn person(&self) -> Owner {
        self.owner.clone()
    }

    /// The local operator has no token from an issuer.
    fn person_key(&self) -> Option<PersonKey> {
        None
    }

    fn proxy_profile(&self) -> Option<&Arc<str>> {
        None
    }

    fn era(&self) -> Era {
        Era::Session
    }

    fn abilities(&self) -> Abilities {
        ClientProfile::TERMINAL.abilities
    }

    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, params: &RawRef) {
        PROGRESS.show(params);
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        let (sender, receiver) = oneshot::channel();
        // A detached thread: the command may end before the user has answered.
        std::thread::spawn(move || {
            // The lock on standard input serializes concurrent elicitations.
            let input = std::io::stdin().lock();
            if !sender.is_closed() {
                PROGRESS.clear();
                let _ = sender.send(answer(&question, &mut Dialog { input, output: std::io::stderr() }));
            }
        });
        async { receiver.await.map_err(|_| RpcError::internal("the user did not answer")) }.boxed()
    }

    fn supports(&self, question: &Question) -> bool {
        question.is_within(self.askable)
    }

    fn askable(&self) -> Abilities {
        self.askable
    }

    fn declared(&self) -> Option<&RawRef> {
        None
    }

    fn log_level(&self) -> Option<LoggingLevel> {
        None
    }

    fn understands_url_error(&self) -> bool {
        false
    }

    fn log(&self, _: &RawRef) {}

    fn notify(&self, _: &str, _: Option<&RawRef>) {}

    fn room(&self) -> Option<BoxFuture<'static, ()>> {
        None
    }

    fn hops(&self) -> Option<&str> {
        None
    }

    fn relays(&self) -> bool {
        true
    }

    fn between_calls(&self) -> Option<Arc<dyn Peer>> {
        None
    }

    fn gone(&self) -> Option<SessionEnd> {
        None
    }
}

fn answer(question: &Question, dialog: &mut Dialog<impl std::io::BufRead, impl std::io::Write>) -> Raw {
    let params: Value = serde_json::from_str(question.params.get()).unwrap_or_default();
    let message = params["message"].as_str().unwrap_or_default();
    match params["url"].as_str().filter(|_| params["mode"] == "url") {
        Some(url) => {
            let agreed = dialog.answer(&format!("{message}\nopen this address: {url}"), &Value::Null);
            raw(&json!({"action": agreed["action"]}))
        }
        None => raw(&dialog.answer(message, &params["requestedSchema"])),
    }
}
