//! A call of a stateless client in which the client is asked something: its request ends with the questions, the call
//! waits, and the next request brings the answers.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::backend::CallError;
use crate::json::{Object, Raw, quote};
use crate::model::Owner;
use crate::server::client::client::Client;
use crate::server::client::peer::ClientPeer;
use crate::server::client::question_channel::{PendingQuestion, QuestionReceiver};
use crate::wire::{RpcError, key};

/// QuestionReceiver that come at the same time are asked together.
const TOGETHER: Duration = Duration::from_millis(10);
/// How often a question may come back without an answer.
const MAX_REMINDERS: usize = 2;
/// Calls that wait for their clients: of all of them, and of one person.
const MAX_WAITING: usize = 1000;
const MAX_WAITING_PER_PERSON: usize = 100;

pub(crate) type Work = Pin<Box<dyn Future<Output = Result<Raw, CallError>> + Send>>;

/// What came of one round.
pub(crate) enum Turn {
    Done(Result<Raw, CallError>),
    Asks(Conversation),
    /// The client does not wait any more.
    Left,
}

pub(crate) struct Conversation {
    work: Work,
    incoming: QuestionReceiver,
    open: Vec<(String, PendingQuestion)>,
    asked: usize,
    pub(crate) peer: Arc<ClientPeer>,
    /// The call ends with it.
    _end: DropGuard,
}

impl Conversation {
    pub(crate) fn new(
        work: Work,
        incoming: QuestionReceiver,
        peer: Arc<ClientPeer>,
        cancel: CancellationToken,
    ) -> Self {
        Conversation { work, incoming, open: Vec::new(), asked: 0, peer, _end: cancel.drop_guard() }
    }

    /// Goes on until the call is done or something is asked.
    pub(crate) async fn turn(mut self, left: &CancellationToken) -> Turn {
        loop {
            self.open.retain(|(_, open)| !open.answer.is_closed());
            if !self.open.is_empty() {
                return Turn::Asks(self);
            }
            tokio::select! {
                biased;
                () = left.cancelled() => return Turn::Left,
                outcome = &mut self.work => return Turn::Done(outcome),
                Some(open) = self.incoming.0.recv() => {
                    self.note(open);
                    tokio::select! {
                        outcome = &mut self.work => return Turn::Done(outcome),
                        () = tokio::time::sleep(TOGETHER) => {}
                    }
                    while let Ok(open) = self.incoming.0.try_recv() {
                        self.note(open);
                    }
                }
            }
        }
    }

    fn note(&mut self, open: PendingQuestion) {
        self.asked += 1;
        self.open.push((format!("question-{}", self.asked), open));
    }

    /// How long the answers may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.open.iter().map(|(_, open)| open.question.patience).max().unwrap_or_default()
    }

    /// The questions as a result that asks them.
    pub(crate) fn input_required(&self, ticket: &str) -> String {
        let requests: Vec<String> = self
            .open
            .iter()
            .map(|(name, open)| {
                let params = bare(&open.question.params);
                format!("{}:{{\"method\":{},\"params\":{params}}}", quote(name), quote(&open.question.method))
            })
            .collect();
        format!(
            "{{\"resultType\":\"input_required\",\"inputRequests\":{{{}}},\"requestState\":{}}}",
            requests.join(","),
            quote(ticket)
        )
    }

    /// Hands the answers to whoever asked. What was left out is asked again, and some time put away.
    pub(crate) fn take(&mut self, answers: Option<&Object<'_>>) {
        let open = std::mem::take(&mut self.open);
        for (name, mut question) in open {
            match answers.and_then(|answers| answers.get(&name)) {
                // Whoever asked may not want to know any more.
                Some(answer) => drop(question.answer.send(Ok(answer.to_owned()))),
                None if question.reminders >= MAX_REMINDERS => {
                    drop(question.answer.send(Err(RpcError::new(-1, "the client did not answer"))));
                }
                None => {
                    question.reminders += 1;
                    self.open.push((name, question));
                }
            }
        }
    }
}

/// The params of a question without what only its own era needs.
fn bare(params: &Raw) -> String {
    match Object::of(params) {
        Ok(object) => object.edit().remove(key::META).remove("task").remove("elicitationId").finish(),
        Err(_) => params.get().to_owned(),
    }
}

/// The calls that wait for their clients.
#[derive(Debug, Default)]
pub(crate) struct Conversations {
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, WaitingCall>>,
}

/// A call that waits.
#[derive(Debug)]
struct WaitingCall {
    owner: Owner,
    person: Owner,
    conversation: Conversation,
    /// Ends it when it is too late.
    timer: AbortHandle,
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Conversation").field("open", &self.open.len()).finish_non_exhaustive()
    }
}

impl Conversations {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, WaitingCall>> {
        self.waiting.lock()
    }

    /// A number for a call that is about to wait.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Keeps a call until its client comes back, or until it is too late. Fails when too many wait already.
    pub(crate) fn keep(
        self: &Arc<Self>,
        number: u64,
        client: &Client,
        conversation: Conversation,
        good_for: Duration,
    ) -> Result<(), RpcError> {
        conversation.peer.suspend();
        let person = Owner::of_handles(&client.principal);
        let mut waiting = self.lock();
        let of_this_person = waiting.values().filter(|other| other.person == person).count();
        // Of people that nobody knows it cannot be told whether they are one.
        let max_of_one = if client.principal.anonymous { MAX_WAITING / 2 } else { MAX_WAITING_PER_PERSON };
        if waiting.len() >= MAX_WAITING || of_this_person >= max_of_one {
            return Err(RpcError::internal("too many calls wait for their clients"));
        }
        let book = Arc::downgrade(self);
        let timer = tokio::spawn(async move {
            tokio::time::sleep(good_for).await;
            let late = book.upgrade().and_then(|book| book.lock().remove(&number));
            if late.is_some() {
                tracing::debug!("a call ended: its client did not come back");
            }
        });
        let timer = timer.abort_handle();
        waiting.insert(number, WaitingCall { owner: client.owner.clone(), person, conversation, timer });
        Ok(())
    }

    pub(crate) fn take(&self, number: u64) -> Option<Conversation> {
        let waiting = self.lock().remove(&number)?;
        waiting.timer.abort();
        Some(waiting.conversation)
    }

    /// Ends the calls of a client that is gone.
    pub(crate) fn end_of(&self, owner: &Owner) {
        self.lock().retain(|_, waiting| {
            let stays = waiting.owner != *owner;
            if !stays {
                waiting.timer.abort();
            }
            stays
        });
    }
}
