//! The requests in flight on a connection, and the dispatch of what the server sends meanwhile.

mod question_count;
mod recipients;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use self::question_count::QuestionCount;
use super::activity::Activity;
use super::error::TransportError;
use super::inbound::{self, Inbound};
use super::outgoing::Outgoing;
use super::server_requests::{self, NoRecipient, QuestionTerms, Recipient};
use super::signals::Signals;
use crate::call::{Attribution, Peer};
use proxy_fiber::{ThreadHandle, is_fiber};
use proxy_json::Raw;
use proxy_model::{Abilities, Owner, is_protocol_method};
use proxy_wire::{Id, MessageError, Request, RpcError, batch, encode, oversized};

/// For how long the owner of an abandoned request is remembered: the server may still send messages for it.
const ABANDONED_TTL: Duration = Duration::from_secs(60);
const MAX_ABANDONED: usize = 1024;
/// Open questions of a server, per call and per connection.
const MAX_QUESTIONS_PER_CALL: usize = 32;
const MAX_QUESTIONS_PER_CONNECTION: usize = 256;
/// Further questions are refused. From this many on they are dropped: the server does not read the refusals.
const MAX_QUESTIONS_AND_REFUSALS: usize = 2 * MAX_QUESTIONS_PER_CONNECTION;

pub(crate) type ResponseReceiver = oneshot::Receiver<Result<Raw, TransportError>>;

#[derive(Debug)]
struct PendingRequest {
    response: oneshot::Sender<Result<Raw, TransportError>>,
    /// The thread that waits for the response. `None` for a fiber: its worker is woken from any thread in the same way.
    thread: Option<ThreadHandle>,
    peer: Option<Arc<dyn Peer>>,
    activity: Option<Arc<Activity>>,
    questions: OpenQuestions,
}

impl PendingRequest {
    fn finish(self, outcome: Result<Raw, TransportError>) {
        // Sending fails if the caller has just stopped waiting.
        let respond = move || drop(self.response.send(outcome));
        match self.thread {
            Some(thread) => thread.run(respond),
            None => respond(),
        }
    }
}

/// The questions that the server asked during a request. They are answered with an error when the request ends.
#[derive(Debug, Default)]
struct OpenQuestions {
    tasks: Vec<(Id, AbortHandle)>,
    /// `None` while there was no question, as during most requests.
    ended: Option<CancellationToken>,
}

impl Drop for OpenQuestions {
    fn drop(&mut self) {
        if let Some(ended) = &self.ended {
            ended.cancel();
        }
    }
}

/// A request whose caller stopped waiting, while the server may still be working on it.
#[derive(Debug)]
struct AbandonedRequest {
    id: u64,
    owner: Owner,
    relays: bool,
    expires: Instant,
}

/// What a transport has to do in reply to a message of the server.
#[derive(Debug)]
pub(crate) enum ReplyAction {
    /// Send this message.
    Send(String),
    /// Pass the request to [`PendingRequests::answer`], which finds the answer and sends it.
    Answer(Request, Result<Recipient, NoRecipient>),
}

/// State shared by the reader of a connection and the callers that send on it.
#[derive(Debug)]
pub(crate) struct PendingRequests {
    pub(crate) server: Arc<str>,
    pub(crate) signals: Arc<Signals>,
    requests: Mutex<HashMap<u64, PendingRequest, RandomState>>,
    closed: watch::Sender<Option<String>>,
    question_terms: OnceLock<QuestionTerms>,
    abandoned: Mutex<VecDeque<AbandonedRequest>>,
    /// The only client of this connection, as it is reached while none of its calls is running.
    sole_client: OnceLock<Arc<dyn Peer>>,
    open_questions: QuestionCount,
    /// Whether something was passed on to a client since the reader last looked for room.
    passed_on: AtomicBool,
    /// Notified when a request is added or ends.
    changed: Notify,
}

impl PendingRequests {
    pub(crate) fn new(server: &Arc<str>, signals: Arc<Signals>) -> Arc<Self> {
        Arc::new(PendingRequests {
            server: Arc::clone(server),
            signals,
            requests: Mutex::default(),
            closed: watch::Sender::new(None),
            question_terms: OnceLock::new(),
            abandoned: Mutex::default(),
            sole_client: OnceLock::new(),
            open_questions: QuestionCount::default(),
            passed_on: AtomicBool::new(false),
            changed: Notify::new(),
        })
    }

    pub(crate) fn set_sole_client(&self, client: Arc<dyn Peer>) {
        if self.sole_client.set(client).is_err() {
            tracing::debug!(server = %self.server, "the sole client of a connection cannot be changed");
        }
    }

    pub(crate) fn set_question_terms(&self, terms: QuestionTerms) {
        if self.question_terms.set(terms).is_err() {
            tracing::debug!(server = %self.server, "the terms for server requests on a connection cannot be changed");
        }
    }

    /// Whether requests are in flight, or questions of the server have no answer yet.
    pub(crate) fn is_busy(&self) -> bool {
        !self.lock().is_empty() || self.open_questions.open() > 0
    }

    /// Whether questions of the server have no answer yet.
    pub(crate) fn has_open_questions(&self) -> bool {
        self.open_questions.open() > 0
    }

    /// Adds a request that is about to be sent. Fails if the connection is closed.
    pub(crate) fn add(&self, outgoing: &Outgoing<'_>) -> Result<ResponseReceiver, TransportError> {
        let (response, receiver) = oneshot::channel();
        let request = PendingRequest {
            response,
            thread: (!is_fiber()).then(ThreadHandle::here),
            peer: outgoing.peer.clone(),
            activity: outgoing.activity.clone(),
            questions: OpenQuestions::default(),
        };
        self.lock().insert(outgoing.id, request);
        self.changed.notify_waiters();
        // Checked after the insertion: a concurrent `close` either is seen here or sees the entry and fails it.
        match self.closed.borrow().clone() {
            Some(reason) => {
                self.remove(outgoing.id);
                Err(TransportError::Closed(reason))
            }
            None => Ok(receiver),
        }
    }

    /// Removes a request whose response arrived by other means, or that was never sent.
    pub(crate) fn remove(&self, id: u64) {
        self.lock().remove(&id);
        self.changed.notify_waiters();
    }

    /// Removes a request whose caller stopped waiting. Returns whether it was still pending. Its owner is remembered, so
    /// that late messages of the server for this request do not go to another client.
    pub(crate) fn abandon(&self, id: u64) -> bool {
        let Some(request) = self.lock().remove(&id) else { return false };
        self.changed.notify_waiters();
        if let Some(peer) = &request.peer {
            let mut abandoned = self.lock_abandoned();
            let now = Instant::now();
            while abandoned.front().is_some_and(|oldest| oldest.expires <= now) || abandoned.len() >= MAX_ABANDONED {
                abandoned.pop_front();
            }
            let (owner, relays) = (peer.owner().clone(), peer.relays());
            abandoned.push_back(AbandonedRequest { id, owner, relays, expires: now + ABANDONED_TTL });
        }
        true
    }

    /// Delivers the outcome of a request to its caller.
    pub(crate) fn finish(&self, id: u64, outcome: Result<Raw, TransportError>) {
        let removed = self.lock().remove(&id);
        self.changed.notify_waiters();
        match removed {
            Some(request) => request.finish(outcome),
            None => {
                self.lock_abandoned().retain(|abandoned| abandoned.id != id);
                tracing::debug!(server = %self.server, id, "dropped a response to an unknown request");
            }
        }
    }

    /// Closes the connection and fails all pending requests. The first reason is kept.
    pub(crate) fn close(&self, reason: &str) {
        self.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            if first {
                *closed = Some(reason.to_owned());
            }
            first
        });
        let ids: Vec<u64> = self.lock().keys().copied().collect();
        for id in ids {
            self.finish(id, Err(self.closed_error("")));
        }
    }

    /// The error of a request on a closed connection. `fallback` is the reason if none is known yet.
    pub(crate) fn closed_error(&self, fallback: &str) -> TransportError {
        TransportError::Closed(self.closed.borrow().clone().unwrap_or_else(|| fallback.to_owned()))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.borrow().is_some()
    }

    /// Completes when the connection has closed, with the reason.
    pub(crate) async fn closed(&self) -> String {
        let mut closed = self.closed.subscribe();
        let reason = closed.wait_for(Option::is_some).await;
        reason.ok().and_then(|reason| reason.clone()).unwrap_or_default()
    }

    /// Handles a message or a batch of messages.
    pub(crate) fn receive(&self, text: &[u8]) -> Vec<ReplyAction> {
        match batch(text) {
            Some(Ok(items)) => items.iter().filter_map(|item| self.receive_one(item.get().as_bytes())).collect(),
            _ => self.receive_one(text).into_iter().collect(),
        }
    }

    /// Fails the request to which a message above the size limit is the response, or refuses the message if it is itself
    /// a request. Only its head and tail are known.
    pub(crate) fn receive_oversized(&self, head: &[u8], tail: &[u8], limit: usize) -> Option<ReplyAction> {
        let id = oversized::message_id(head, tail);
        // Server requests have ids of their own, which may equal ids of the proxy's requests.
        if oversized::has_method(head) {
            let error = RpcError::invalid_request(&format!("the message is larger than {limit} bytes"));
            return id.map(|id| ReplyAction::Send(encode::error(Some(&id), &error)));
        }
        match id.as_ref().and_then(Id::as_number) {
            Some(id) => self.finish(id, Err(TransportError::TooLarge(limit))),
            None => {
                tracing::warn!(server = %self.server, "dropped an oversized message without an id that can be read")
            }
        }
        None
    }

    fn receive_one(&self, text: &[u8]) -> Option<ReplyAction> {
        match inbound::parse(&self.server, &self.signals, text) {
            Ok(Inbound::Response(response)) => match inbound::numeric_id(response.id.as_ref()) {
                Some(id) => self.finish(id, response.outcome.map_err(TransportError::Rpc)),
                None => tracing::warn!(server = %self.server, "dropped a response without a usable id"),
            },
            Ok(inbound) => return self.dispatch(inbound, None),
            Err(MessageError { id, error }) => self.receive_malformed(text, id, &error),
        }
        None
    }

    /// Dispatches a message that is not a response. On the stream of a request (`on_stream_of`) it belongs to that request;
    /// elsewhere to the newest call, if all calls are of one client.
    pub(crate) fn dispatch(&self, inbound: Inbound, on_stream_of: Option<u64>) -> Option<ReplyAction> {
        let recipient = || match on_stream_of {
            Some(call) => self.recipient_of(call).ok_or(NoRecipient::NoCall),
            None => self.sole_recipient(),
        };
        self.passed_on.store(true, Ordering::Relaxed);
        match inbound {
            Inbound::Ping(reply) => return Some(ReplyAction::Send(reply)),
            Inbound::Question(request) => return Some(ReplyAction::Answer(request, recipient())),
            Inbound::QuestionCancelled(id) => self.withdraw_question(&id),
            Inbound::Progress(token, params) => self.forward_progress(token, &params),
            Inbound::Log(params) => match recipient() {
                Ok(recipient) if on_stream_of.is_some() || self.all_relay() => recipient.peer.log(&params),
                _ => tracing::debug!(server = %self.server, "log message for no client: {params}"),
            },
            Inbound::Notification(notification) => {
                if let Ok(recipient) = recipient()
                    && (on_stream_of.is_some() || is_protocol_method(&notification.method) || self.all_relay())
                {
                    recipient.peer.notify(&notification.method, notification.params.as_deref());
                }
            }
            Inbound::Response(_) | Inbound::Handled => {}
        }
        None
    }

    /// Completes when all server requests so far have been answered, with their number.
    pub(crate) async fn questions_answered(&self) -> usize {
        self.open_questions.all_answered().await
    }

    /// Answers a server request in the background. `send` sends the answer.
    pub(crate) fn answer<F>(
        &self,
        request: Request,
        recipient: Result<Recipient, NoRecipient>,
        send: impl FnOnce(String) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let open = self.open_questions.open();
        if open >= MAX_QUESTIONS_AND_REFUSALS {
            tracing::warn!(server = %self.server, "dropped a server request: too many are unanswered");
            return;
        }
        let counted = self.open_questions.add();
        if matches!(recipient, Err(NoRecipient::SeveralOwners)) {
            tracing::warn!(
                server = %self.server,
                method = request.method,
                "refused a server request: calls from several clients are running on the connection; set \
                 `scope: session` to give each client its own"
            );
        }
        // Before the handshake the server may ask nothing.
        let no_questions = || {
            let attribution = Attribution::default();
            QuestionTerms { declared: Abilities::NONE, timeout: Duration::ZERO, attribution }
        };
        let terms = self.question_terms.get().cloned().unwrap_or_else(no_questions);
        let server = Arc::clone(&self.server);
        let mut requests = self.lock();
        let call = recipient.as_ref().ok().and_then(|recipient| recipient.call);
        let mut pending = call.and_then(|call| requests.get_mut(&call));
        let mut recipient = recipient;
        let mut ended = CancellationToken::new();
        if let Some(pending) = &mut pending {
            ended = pending.questions.ended.get_or_insert(ended).clone();
            if pending.questions.tasks.len() >= MAX_QUESTIONS_PER_CALL {
                recipient = Err(NoRecipient::TooManyOfCall);
            }
        } else if call.is_some() {
            // The call has ended since the recipient was determined.
            recipient = Err(NoRecipient::NoCall);
        }
        if open >= MAX_QUESTIONS_PER_CONNECTION {
            recipient = Err(NoRecipient::TooManyOfConnection);
        }
        let id = request.id.clone();
        let task = tokio::spawn(async move {
            let _counted = counted;
            send(server_requests::answer(&server, request, recipient, terms, &ended).await).await;
        });
        if let Some(pending) = pending {
            pending.questions.tasks.retain(|(_, task)| !task.is_finished());
            pending.questions.tasks.push((id, task.abort_handle()));
        }
    }

    fn withdraw_question(&self, id: &Id) {
        for request in self.lock().values() {
            request.questions.tasks.iter().filter(|(question, _)| question == id).for_each(|(_, task)| task.abort());
        }
    }

    fn forward_progress(&self, token: u64, params: &Raw) {
        let peer = {
            let requests = self.lock();
            let Some(request) = requests.get(&token) else { return };
            if let Some(activity) = &request.activity {
                activity.record_progress();
            }
            request.peer.clone()
        };
        if let Some(peer) = peer.filter(|peer| peer.wants_progress()) {
            peer.progress(params);
        }
    }

    /// A malformed response fails its request. Anything else malformed is logged and ignored.
    fn receive_malformed(&self, text: &[u8], id: Option<Id>, error: &RpcError) {
        let shown: String = String::from_utf8_lossy(text).chars().take(200).collect();
        // The first of several, if a server writes its log to stdout.
        tracing::warn!(server = %self.server, line = %shown, error = error.message(), "sent an invalid message");
        if oversized::has_method(text) {
            return;
        }
        // The id can often be found even in invalid JSON, such as a result that contains `NaN`.
        let found = || oversized::message_id(text, text).as_ref().and_then(Id::as_number);
        if let Some(id) = inbound::numeric_id(id.as_ref()).or_else(found)
            && self.lock().contains_key(&id)
        {
            self.finish(id, Err(TransportError::Protocol(error.message())));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, PendingRequest, RandomState>> {
        self.requests.lock()
    }

    fn lock_abandoned(&self) -> MutexGuard<'_, VecDeque<AbandonedRequest>> {
        self.abandoned.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_with_too_many_questions_is_told_so() {
        let pending = PendingRequests::new(&"fake".into(), Arc::default());
        let declared = Abilities { roots: true, ..Abilities::NONE };
        pending.set_question_terms(QuestionTerms {
            declared,
            timeout: Duration::from_secs(60),
            attribution: Attribution::default(),
        });
        let question = || Request::new(Id::number(1), "roots/list".to_owned(), None);
        for _ in 0..MAX_QUESTIONS_PER_CONNECTION {
            pending.answer(question(), Err(NoRecipient::NoCall), |_| std::future::pending());
        }
        let (sender, refusal) = oneshot::channel();
        pending.answer(question(), Err(NoRecipient::NoCall), |text| async move { drop(sender.send(text)) });
        assert!(refusal.await.unwrap().contains("this connection has too many unanswered server requests"));
    }
}
