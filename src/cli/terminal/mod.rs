//! Whoever typed the command, while a call runs: progress is shown on their terminal, and questions are asked there.

mod dialog;
mod line;

use std::io::IsTerminal;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::backend::{Peer, Question};
use crate::json::{Raw, RawRef, raw};
use crate::model::{Abilities, Owner};
use crate::wire::RpcError;
use dialog::Dialog;
use line::Line;

/// What a person at a terminal can be asked.
pub(super) fn abilities() -> Abilities {
    Abilities { form: can_be_asked(), ..Abilities::default() }
}

/// Whether there is a terminal to ask at, and to answer from.
fn can_be_asked() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whoever looks at the terminal; nobody if standard error is none.
pub(super) fn person() -> Option<Arc<Person>> {
    let looks = std::io::stderr().is_terminal();
    looks.then(|| Arc::new(Person { owner: Owner::new_session(), abilities: abilities(), line: Arc::default() }))
}

#[derive(Debug)]
pub(super) struct Person {
    owner: Owner,
    abilities: Abilities,
    line: Arc<Line>,
}

impl Person {
    /// The call is over: what follows is the result.
    pub(super) fn clear(&self) {
        self.line.clear();
    }
}

impl Peer for Person {
    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, params: &RawRef) {
        self.line.show(params);
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Raw, RpcError>> {
        let (sender, receiver) = oneshot::channel();
        let line = Arc::clone(&self.line);
        // A thread that nobody waits for: the command may end before the person has answered.
        std::thread::spawn(move || {
            // Whoever holds the input asks; others wait for their turn.
            let input = std::io::stdin().lock();
            if !sender.is_closed() {
                line.clear();
                let _ = sender.send(answer(&question, &mut Dialog { input, output: std::io::stderr() }));
            }
        });
        async { receiver.await.map_err(|_| RpcError::internal("nobody answered")) }.boxed()
    }

    fn takes_form(&self, _: &Question) -> bool {
        self.abilities.form
    }
}

fn answer(question: &Question, dialog: &mut Dialog<impl std::io::BufRead, impl std::io::Write>) -> Raw {
    let params: Value = serde_json::from_str(question.params.get()).unwrap_or_default();
    raw(&dialog.answer(params["message"].as_str().unwrap_or_default(), &params["requestedSchema"]))
}
