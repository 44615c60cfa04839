//! A call of a stateless client that asks questions while it runs. The client's request ends with the questions, the
//! call is suspended in this process, and the client's next request brings the answers.

use std::collections::HashMap;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio_util::sync::DropGuard;

use crate::client::peer::ClientPeer;
use crate::client::question_channel::{QuestionReceiver, QueuedQuestion};
use crate::client::state::Client;
use proxy_json::{Object, Raw, quote};
use proxy_mcp_client::{CallError, Cancellation};
use proxy_model::Owner;
use proxy_wire::{RpcError, key};

/// How long to wait for further questions after the first one: concurrent questions are asked together.
const COLLECT_TIME: Duration = Duration::from_millis(10);
/// How often a question is repeated if the client retries without an answer.
const MAX_REMINDERS: usize = 2;
/// The maximum number of suspended calls, in total and per person.
const MAX_WAITING: usize = 1000;
const MAX_WAITING_PER_PERSON: usize = 100;

/// The future of a running call.
pub(super) type CallFuture = Pin<Box<dyn Future<Output = Result<Raw, CallError>> + Send>>;

/// The outcome of one round of a call.
pub(super) enum RoundOutcome {
    Done(Result<Raw, CallError>),
    Asks(Conversation),
    /// The client cancelled its request.
    Cancelled,
}

/// A running call and its open questions.
pub(crate) struct Conversation {
    call: CallFuture,
    incoming: QuestionReceiver,
    open: Vec<(String, QueuedQuestion)>,
    /// The number of questions so far, from which their keys are made.
    question_count: usize,
    pub(crate) peer: Arc<ClientPeer>,
    /// Until when the person of an unsent call is asked, once that was asked. Seconds since 1970.
    pub(super) log_in_until: Option<u64>,
    cancel: Cancellation,
    /// Cancels the call when the conversation is dropped.
    _cancel_on_drop: DropGuard,
}

impl Conversation {
    pub(crate) fn new(
        call: CallFuture,
        incoming: QuestionReceiver,
        peer: Arc<ClientPeer>,
        cancel: Cancellation,
    ) -> Self {
        let _cancel_on_drop = cancel.token().clone().drop_guard();
        let open = Vec::new();
        Conversation { call, incoming, open, question_count: 0, peer, log_in_until: None, cancel, _cancel_on_drop }
    }

    /// Whether only the proxy itself asks. If the call is one of a server, that is before the call is sent.
    pub(super) fn is_asked_by_proxy(&self) -> bool {
        self.open.iter().all(|(_, open)| open.question.is_of_proxy)
    }

    /// Passes this answer to every open question.
    pub(super) fn answer_all(&mut self, answer: &Raw) {
        for (_, question) in std::mem::take(&mut self.open) {
            // Sending fails if the call no longer waits for this answer.
            drop(question.answer.send(Ok(Raw::clone(answer))));
        }
    }

    /// Runs the call until it finishes, asks questions, or `cancel` is cancelled.
    pub(super) async fn run_round(mut self, cancel: &Cancellation) -> RoundOutcome {
        loop {
            self.open.retain(|(_, open)| !open.answer.is_closed());
            if !self.open.is_empty() {
                return RoundOutcome::Asks(self);
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    self.cancel.cancel(cancel.reason());
                    return RoundOutcome::Cancelled;
                }
                outcome = &mut self.call => return RoundOutcome::Done(outcome),
                Some(question) = self.incoming.0.recv() => {
                    self.add(question);
                    tokio::select! {
                        outcome = &mut self.call => return RoundOutcome::Done(outcome),
                        () = tokio::time::sleep(COLLECT_TIME) => {}
                    }
                    while let Ok(question) = self.incoming.0.try_recv() {
                        self.add(question);
                    }
                }
            }
        }
    }

    fn add(&mut self, question: QueuedQuestion) {
        self.question_count += 1;
        self.open.push((format!("question-{}", self.question_count), question));
    }

    /// How long the client may take to answer: the longest timeout of the open questions.
    pub(crate) fn timeout(&self) -> Duration {
        self.open.iter().map(|(_, open)| open.question.answer_timeout).max().unwrap_or_default()
    }

    /// Encodes the open questions as an `input_required` result.
    pub(crate) fn input_required(&self, ticket: &str) -> String {
        let requests: Vec<String> = self
            .open
            .iter()
            .map(|(name, open)| {
                let params = input_request_params(&open.question.params);
                format!("{}:{{\"method\":{},\"params\":{params}}}", quote(name), quote(&open.question.method))
            })
            .collect();
        format!(
            "{{\"resultType\":\"input_required\",\"inputRequests\":{{{}}},\"requestState\":{}}}",
            requests.join(","),
            quote(ticket)
        )
    }

    /// Passes the answers to the call. A question without an answer is asked again, and fails after too many reminders.
    pub(super) fn take_answers(&mut self, answers: Option<&Object<'_>>) {
        let open = std::mem::take(&mut self.open);
        for (name, mut question) in open {
            match answers.and_then(|answers| answers.get(&name)) {
                // Sending fails if the call no longer waits for this answer.
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

/// The params of a question without the members that only session-based revisions define.
fn input_request_params(params: &Raw) -> String {
    match Object::of(params) {
        Ok(object) => object.edit().remove(key::META).remove("task").remove("elicitationId").finish(),
        Err(_) => params.get().to_owned(),
    }
}

/// The suspended calls of this process.
#[derive(Debug, Default)]
pub(crate) struct Conversations {
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, WaitingCall>>,
    /// Notified when a call is no longer suspended.
    changed: Notify,
}

/// A suspended call.
#[derive(Debug)]
struct WaitingCall {
    owner: Owner,
    person: Owner,
    conversation: Conversation,
    /// Whether another process makes the call if this one ends.
    is_movable: bool,
    /// Cancels the call when its ticket expires.
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

    /// A new number for a call that is about to be suspended.
    pub(super) fn next_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Suspends a call until the client retries or `lifetime` has passed. `is_movable` says that the end of this process does
    /// not end the call. Fails if too many calls are suspended.
    pub(crate) fn suspend(
        self: &Arc<Self>,
        number: u64,
        client: &Client,
        conversation: Conversation,
        lifetime: Duration,
        is_movable: bool,
    ) -> Result<(), RpcError> {
        conversation.peer.suspend();
        let person = Owner::of_handles(&client.principal);
        let mut waiting = self.lock();
        let of_this_person = waiting.values().filter(|other| other.person == person).count();
        // Anonymous clients count as one person, so they get a higher limit.
        let max_per_person = if client.principal.is_anonymous() { MAX_WAITING / 2 } else { MAX_WAITING_PER_PERSON };
        if waiting.len() >= MAX_WAITING || of_this_person >= max_per_person {
            return Err(RpcError::internal("too many calls are waiting for client answers; try again later"));
        }
        let conversations = Arc::downgrade(self);
        let timer = tokio::spawn(async move {
            tokio::time::sleep(lifetime).await;
            let Some(conversations) = conversations.upgrade() else { return };
            let expired = conversations.lock().remove(&number);
            if expired.is_some() {
                conversations.changed.notify_waiters();
                tracing::debug!("cancelled a suspended call: the client did not answer in time");
            }
        });
        let timer = timer.abort_handle();
        let owner = client.owner.clone();
        waiting.insert(number, WaitingCall { owner, person, conversation, is_movable, timer });
        Ok(())
    }

    pub(crate) fn take(&self, number: u64) -> Option<Conversation> {
        let waiting = self.lock().remove(&number)?;
        self.changed.notify_waiters();
        waiting.timer.abort();
        Some(waiting.conversation)
    }

    /// Whether no call is suspended that ends with this process.
    pub(crate) fn may_end(&self) -> bool {
        self.lock().values().all(|waiting| waiting.is_movable)
    }

    /// Completes when no call is suspended that ends with this process.
    pub(crate) async fn all_continued(&self) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.may_end() {
                return;
            }
            changed.await;
        }
    }

    /// Cancels the suspended calls of a client that has disconnected.
    pub(crate) fn cancel_all_of(&self, owner: &Owner) {
        self.lock().retain(|_, waiting| {
            let is_other = waiting.owner != *owner;
            if !is_other {
                waiting.timer.abort();
            }
            is_other
        });
        self.changed.notify_waiters();
    }
}
