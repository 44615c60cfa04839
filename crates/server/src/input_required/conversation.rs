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

use super::open_questions::OpenQuestions;
use super::ticket::now;
use crate::client::peer::ClientPeer;
use crate::client::question_channel::QuestionReceiver;
use crate::client::state::Client;
use proxy_json::{Object, Raw};
use proxy_mcp_client::{CallError, Cancellation};
use proxy_model::Owner;
use proxy_wire::RpcError;

/// How long to wait for further questions after the first one: concurrent questions are asked together.
const COLLECT_TIME: Duration = Duration::from_millis(10);
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
    open: OpenQuestions,
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
        let open = OpenQuestions::default();
        Conversation { call, incoming, open, peer, log_in_until: None, cancel, _cancel_on_drop }
    }

    /// Whether the call waits for nothing but the log-in of its person. If the call is one of a server, it is not sent yet.
    pub(super) fn waits_for_log_in(&self) -> bool {
        self.open.are_about_log_in()
    }

    /// Passes this answer to the open questions about the log-in.
    pub(super) fn answer_log_in(&mut self, answer: &Raw) {
        self.open.answer_log_in(answer);
    }

    /// Gives up the log-in if its time is over, so that the call ends with what to do.
    pub(super) fn give_up_late_log_in(&mut self) {
        if let Some(until) = self.log_in_until {
            self.open.give_up_late_log_in(until, now());
        }
    }

    /// Runs the call until it finishes, asks questions, or `cancel` is cancelled.
    pub(super) async fn run_round(mut self, cancel: &Cancellation) -> RoundOutcome {
        loop {
            self.open.drop_withdrawn();
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
                    self.open.add(question);
                    tokio::select! {
                        outcome = &mut self.call => return RoundOutcome::Done(outcome),
                        () = tokio::time::sleep(COLLECT_TIME) => {}
                    }
                    while let Ok(question) = self.incoming.0.try_recv() {
                        self.open.add(question);
                    }
                }
            }
        }
    }

    /// How long the client may take to answer.
    pub(crate) fn timeout(&self) -> Duration {
        self.open.timeout()
    }

    /// Encodes the open questions as an `input_required` result.
    pub(crate) fn input_required(&self, ticket: &str) -> String {
        self.open.as_result(ticket)
    }

    /// Passes the answers to the call.
    pub(super) fn take_answers(&mut self, answers: Option<&Object<'_>>) {
        self.open.take_answers(answers);
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
