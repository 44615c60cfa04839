//! Requests that wait for their answers on a connection which carries them all.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::any_transport::{Activity, Outgoing, TransportError};
use super::inbound;
use super::inbound::Inbound;
use super::oversized;
use super::server_requests;
use super::server_requests::{Asker, Nobody, Terms};
use super::signals::Signals;
use crate::backend::call::peer::Peer;
use crate::json::Raw;
use crate::model::{Abilities, Owner};
use crate::wire::{Fault, Id, Notification, Request, RpcError, batch};

pub(crate) type Reply = oneshot::Receiver<Result<Raw, TransportError>>;

/// What a connection may be asked before anything was agreed: nothing.
const NO_TERMS: Terms = Terms {
    declared: Abilities {
        form: false,
        url: false,
        sampling: false,
        sampling_tools: false,
        sampling_context: false,
        roots: false,
        roots_changes: false,
    },
    patience: Duration::ZERO,
};

#[derive(Debug)]
struct Pending {
    reply: oneshot::Sender<Result<Raw, TransportError>>,
    peer: Option<Arc<dyn Peer>>,
    pulse: Option<Arc<Activity>>,
    /// What the server asks in the middle of it. Ends with it.
    questions: Questions,
}

#[derive(Debug, Default)]
struct Questions {
    open: Vec<(Id, AbortHandle)>,
    ended: CancellationToken,
}

impl Drop for Questions {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

/// A call that nobody waits for any more, but that the server may still be working on.
#[derive(Debug)]
struct Left {
    id: u64,
    owner: Owner,
    until: Instant,
}

/// For how long a call that was given up still counts when it must be told whose something is.
const REMEMBERED: Duration = Duration::from_secs(60);
const MOST_REMEMBERED: usize = 1024;
/// Questions of one call, and of one connection, that may be open at once.
const MOST_OF_CALL: usize = 32;
const MOST_OF_CONNECTION: usize = 256;

/// What is to be done about something a server sent.
#[derive(Debug)]
pub(crate) enum Task {
    Send(String),
    /// Find the answer, and send that.
    Answer(Request, Result<Asker, Nobody>),
}

/// What the reader of a connection and those who send on it share.
#[derive(Debug)]
pub(crate) struct PendingTable {
    pub(crate) name: Arc<str>,
    pub(crate) signals: Arc<Signals>,
    pending: Mutex<HashMap<u64, Pending>>,
    closed: watch::Sender<Option<String>>,
    terms: OnceLock<Terms>,
    left: Mutex<VecDeque<Left>>,
    /// The only client of this connection, as it is reached while no call of it runs.
    session: OnceLock<Arc<dyn Peer>>,
    answering: Arc<Semaphore>,
}

impl PendingTable {
    pub(crate) fn new(name: &Arc<str>, signals: Arc<Signals>) -> Arc<Self> {
        let (name, pending, closed) = (Arc::clone(name), Mutex::default(), watch::Sender::new(None));
        Arc::new(PendingTable {
            name,
            signals,
            pending,
            closed,
            terms: OnceLock::new(),
            left: Mutex::default(),
            session: OnceLock::new(),
            answering: Arc::new(Semaphore::new(MOST_OF_CONNECTION)),
        })
    }

    /// This connection is one client's own.
    pub(crate) fn belongs_to(&self, session: Arc<dyn Peer>) {
        if self.session.set(session).is_err() {
            tracing::debug!(server = %self.name, "a connection belongs to one client for good");
        }
    }

    /// Whether requests of clients are on their way.
    pub(crate) fn is_busy(&self) -> bool {
        !self.lock().is_empty()
    }

    pub(crate) fn agree_terms(&self, terms: Terms) {
        if self.terms.set(terms).is_err() {
            tracing::debug!(server = %self.name, "the terms of a connection are agreed once");
        }
    }

    /// Makes an entry for a request that is about to be sent. Fails where nothing will be answered any more.
    pub(crate) fn enter(&self, outgoing: &Outgoing<'_>) -> Result<Reply, TransportError> {
        let (reply, answer) = oneshot::channel();
        let (peer, pulse) = (outgoing.peer.clone(), outgoing.pulse.clone());
        self.lock().insert(outgoing.id, Pending { reply, peer, pulse, questions: Questions::default() });
        // Looked at after the entry was made: whoever closes later finds the entry and fails it.
        match self.closed.borrow().clone() {
            Some(reason) => {
                self.leave(outgoing.id);
                Err(TransportError::Closed(reason))
            }
            None => Ok(answer),
        }
    }

    /// Takes an entry away that was answered elsewhere, or never sent.
    pub(crate) fn leave(&self, id: u64) {
        self.lock().remove(&id);
    }

    /// Takes an entry away that nobody waits for any more; whether it was still there. The server may not know yet, or
    /// not care: what it says of that call must not be taken for another client's.
    pub(crate) fn give_up(&self, id: u64) -> bool {
        let Some(entry) = self.lock().remove(&id) else { return false };
        if let Some(peer) = &entry.peer {
            let mut left = self.left();
            let now = Instant::now();
            while left.front().is_some_and(|oldest| oldest.until <= now) || left.len() >= MOST_REMEMBERED {
                left.pop_front();
            }
            left.push_back(Left { id, owner: peer.owner().clone(), until: now + REMEMBERED });
        }
        true
    }

    fn left(&self) -> MutexGuard<'_, VecDeque<Left>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn finish(&self, id: u64, outcome: Result<Raw, TransportError>) {
        match self.lock().remove(&id) {
            // Whoever asked may be gone by now.
            Some(pending) => drop(pending.reply.send(outcome)),
            None => {
                // Now the server is done with it.
                self.left().retain(|left| left.id != id);
                tracing::debug!(server = %self.name, id, "an answer nobody waits for was dropped");
            }
        }
    }

    /// Nothing will be answered any more: fails what still waits. The first reason counts.
    pub(crate) fn close(&self, reason: &str) {
        self.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            if first {
                *closed = Some(reason.to_owned());
            }
            first
        });
        let waiting: Vec<u64> = self.lock().keys().copied().collect();
        for id in waiting {
            self.finish(id, Err(self.lost("")));
        }
    }

    /// The error of a request that this connection can no longer carry.
    pub(crate) fn lost(&self, otherwise: &str) -> TransportError {
        TransportError::Closed(self.closed.borrow().clone().unwrap_or_else(|| otherwise.to_owned()))
    }

    /// Ends when the connection has, with the reason.
    pub(crate) async fn closed(&self) -> String {
        let mut closed = self.closed.subscribe();
        let reason = closed.wait_for(Option::is_some).await;
        reason.ok().and_then(|reason| reason.clone()).unwrap_or_default()
    }

    /// Takes a message or a batch of them; what is to be done about it.
    pub(crate) fn take(&self, text: &[u8]) -> Vec<Task> {
        match batch(text) {
            Some(Ok(items)) => items.iter().filter_map(|item| self.take_message(item.get().as_bytes())).collect(),
            _ => self.take_message(text).into_iter().collect(),
        }
    }

    /// Takes what was too large to be read: whoever it answers is told.
    pub(crate) fn take_oversized(&self, head: &[u8], tail: &[u8], cap: usize) {
        match oversized::answered(head, tail) {
            Some(id) => self.finish(id, Err(TransportError::TooLarge(cap))),
            None => tracing::warn!(server = %self.name, "nobody can be told: the message shows no id"),
        }
    }

    fn take_message(&self, text: &[u8]) -> Option<Task> {
        match inbound::sort(&self.name, &self.signals, text) {
            Ok(Inbound::Answer(response)) => match inbound::number(response.id.as_ref()) {
                Some(id) => self.finish(id, response.outcome.map_err(TransportError::Rpc)),
                None => tracing::warn!(server = %self.name, "an answer without a usable id was dropped"),
            },
            Ok(inbound) => return self.take_other(inbound, None),
            Err(Fault { id, error }) => self.take_fault(text, id, &error),
        }
        None
    }

    /// Takes what is no answer. On the stream of a request of its own it belongs to that; elsewhere to the only client
    /// that has calls running, if there is just one.
    pub(crate) fn take_other(&self, inbound: Inbound, on_stream_of: Option<u64>) -> Option<Task> {
        let whose = || match on_stream_of {
            Some(call) => self.asker(call).ok_or(Nobody::NoCall),
            None => self.sole_owner(),
        };
        match inbound {
            Inbound::Reply(reply) => return Some(Task::Send(reply)),
            Inbound::Question(request) => return Some(Task::Answer(request, whose())),
            Inbound::TakenBack(id) => self.take_back(&id),
            Inbound::Progress(token, params) => self.take_progress(token, &params),
            Inbound::Log(params) => match whose() {
                Ok(asker) => asker.peer.log(&params),
                Err(_) => tracing::debug!(target: "server", server = %self.name, "{params}"),
            },
            Inbound::Other(notification) => self.take_notification(&notification, whose()),
            Inbound::Answer(_) | Inbound::Nothing => {}
        }
        None
    }

    fn take_notification(&self, notification: &Notification, whose: Result<Asker, Nobody>) {
        if let Ok(asker) = whose {
            asker.peer.tell(&notification.method, notification.params.as_deref());
        }
    }

    /// Answers a server's request in the background; `send` takes the answer back to it.
    pub(crate) fn answer<F>(
        &self,
        request: Request,
        asker: Result<Asker, Nobody>,
        send: impl FnOnce(String) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let Ok(place) = Arc::clone(&self.answering).try_acquire_owned() else {
            tracing::warn!(server = %self.name, "a request of the server was dropped: too many are not answered yet");
            return;
        };
        if matches!(asker, Err(Nobody::SeveralOwners)) {
            tracing::warn!(
                server = %self.name,
                method = request.method,
                "it asked something while calls of several clients were running, and nobody was asked; with `scope: session` \
                 every client has a connection of its own"
            );
        }
        let terms = self.terms.get().copied().unwrap_or(NO_TERMS);
        let mut table = self.lock();
        let entry = asker.as_ref().ok().and_then(|asker| asker.call).and_then(|call| table.get_mut(&call));
        let mut asker = asker;
        let mut ended = CancellationToken::new();
        if let Some(entry) = &entry {
            ended = entry.questions.ended.clone();
            if entry.questions.open.len() >= MOST_OF_CALL {
                asker = Err(Nobody::TooMany);
            }
        } else if asker.as_ref().is_ok_and(|asker| asker.call.is_some()) {
            // The call ended meanwhile; nobody is asked for it any more.
            asker = Err(Nobody::NoCall);
        }
        let id = request.id.clone();
        let task = tokio::spawn(async move {
            let _place = place;
            send(server_requests::answer(request, asker, terms, &ended).await).await;
        });
        if let Some(entry) = entry {
            entry.questions.open.retain(|(_, question)| !question.is_finished());
            entry.questions.open.push((id, task.abort_handle()));
        }
    }

    fn asker(&self, call: u64) -> Option<Asker> {
        let pending = self.lock();
        let entry = pending.get(&call)?;
        Some(Asker { call: Some(call), peer: Arc::clone(entry.peer.as_ref()?), pulse: entry.pulse.clone() })
    }

    /// The newest call of the only client that has any.
    fn sole_owner(&self) -> Result<Asker, Nobody> {
        let pending = self.lock();
        let mut calls = pending.iter().filter_map(|(id, entry)| Some((*id, entry.peer.as_ref()?, entry)));
        let Some((mut newest, mut peer, mut entry)) = calls.next() else {
            let session = self.session.get().ok_or(Nobody::NoCall)?;
            return Ok(Asker { call: None, peer: Arc::clone(session), pulse: None });
        };
        for (id, other, its_entry) in calls {
            if other.owner() != peer.owner() {
                return Err(Nobody::SeveralOwners);
            }
            if id > newest {
                (newest, peer, entry) = (id, other, its_entry);
            }
        }
        let now = Instant::now();
        if self.left().iter().any(|left| left.until > now && left.owner != *peer.owner()) {
            return Err(Nobody::SeveralOwners);
        }
        Ok(Asker { call: Some(newest), peer: Arc::clone(peer), pulse: entry.pulse.clone() })
    }

    fn take_back(&self, id: &Id) {
        for entry in self.lock().values() {
            entry.questions.open.iter().filter(|(asked, _)| asked == id).for_each(|(_, question)| question.abort());
        }
    }

    fn take_progress(&self, token: u64, params: &Raw) {
        let peer = {
            let pending = self.lock();
            let Some(pending) = pending.get(&token) else { return };
            if let Some(pulse) = &pending.pulse {
                pulse.beat();
            }
            pending.peer.clone()
        };
        if let Some(peer) = peer.filter(|peer| peer.wants_progress()) {
            peer.progress(params);
        }
    }

    /// A malformed answer fails the call it names; anything else on the stream is noise to log.
    fn take_fault(&self, text: &[u8], id: Option<Id>, error: &RpcError) {
        let shown: String = String::from_utf8_lossy(text).chars().take(200).collect();
        tracing::warn!(server = %self.name, line = %shown, "not a message: {}", error.message());
        // Of what is no JSON, such as a result with `NaN` in it, the id can often still be read.
        if let Some(id) = inbound::number(id.as_ref()).or_else(|| oversized::answered(text, text))
            && self.lock().contains_key(&id)
        {
            self.finish(id, Err(TransportError::Protocol(error.message())));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
