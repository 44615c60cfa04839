//! Questions in the middle of a call, asked on the terminal of whoever typed the command.

mod dialog;

use std::io::IsTerminal;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::backend::{Party, Question};
use crate::json::{Raw, RawRef, raw};
use crate::model::{Abilities, Owner};
use crate::wire::{RpcError, Severity};
use dialog::Dialog;

/// What a person at a terminal can be asked.
pub(super) const ABILITIES: Abilities =
    Abilities { form: true, url: false, sampling: false, sampling_tools: false, sampling_context: false, roots: false };

/// Whether there is a terminal to ask at, and to answer from.
pub(super) fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whoever sits there; none where nobody can be asked.
pub(super) fn person() -> Option<Arc<dyn Party>> {
    is_possible().then(|| Arc::new(Person { owner: Owner::new_session() }) as Arc<dyn Party>)
}

#[derive(Debug)]
struct Person {
    owner: Owner,
}

impl Party for Person {
    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn abilities(&self) -> Abilities {
        ABILITIES
    }

    fn askable(&self) -> Abilities {
        ABILITIES
    }

    fn declared(&self) -> Option<&RawRef> {
        None
    }

    fn wants_progress(&self) -> bool {
        false
    }

    fn log_level(&self) -> Option<Severity> {
        None
    }

    fn understands_url_error(&self) -> bool {
        false
    }

    fn progress(&self, _: &RawRef) {}

    fn log(&self, _: &RawRef) {}

    fn tell(&self, _: &str, _: Option<&RawRef>) {}

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        let (sender, receiver) = oneshot::channel();
        // A thread that nobody waits for: the command may end before the person has answered.
        std::thread::spawn(move || {
            // Whoever holds the input asks; others wait for their turn.
            let input = std::io::stdin().lock();
            if !sender.is_closed() {
                let _ = sender.send(answer(&question, &mut Dialog { input, output: std::io::stderr() }));
            }
        });
        async { receiver.await.map_err(|_| RpcError::internal("nobody answered")) }.boxed()
    }

    fn takes_form(&self, _: &Question) -> bool {
        true
    }

    fn between_calls(&self) -> Option<Arc<dyn Party>> {
        None
    }

    fn gone(&self) -> Option<CancellationToken> {
        None
    }
}

fn answer(question: &Question, dialog: &mut Dialog<impl std::io::BufRead, impl std::io::Write>) -> Raw {
    let params: Value = serde_json::from_str(question.params.get()).unwrap_or_default();
    raw(&dialog.answer(params["message"].as_str().unwrap_or_default(), &params["requestedSchema"]))
}
