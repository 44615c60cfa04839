//! Requests that wait for their answers on a connection which carries them all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{oneshot, watch};

use super::call::ProgressSink;
use super::inbound::{self, Inbound};
use super::link::{LinkError, Outgoing, Pulse};
use super::long_line;
use super::signals::Signals;
use crate::json::Raw;
use crate::wire::{Fault, Id, RpcError, batch};

pub(super) type Reply = oneshot::Receiver<Result<Raw, LinkError>>;

#[derive(Debug)]
struct Pending {
    reply: oneshot::Sender<Result<Raw, LinkError>>,
    progress: Option<ProgressSink>,
    pulse: Option<Arc<Pulse>>,
}

/// What the reader of a connection and those who send on it share.
#[derive(Debug)]
pub(super) struct PendingTable {
    pub(super) name: Arc<str>,
    signals: Arc<Signals>,
    pending: Mutex<HashMap<u64, Pending>>,
    closed: watch::Sender<Option<String>>,
}

impl PendingTable {
    pub(super) fn new(name: &Arc<str>, signals: Arc<Signals>) -> Arc<Self> {
        let (name, pending, closed) = (Arc::clone(name), Mutex::default(), watch::Sender::new(None));
        Arc::new(PendingTable { name, signals, pending, closed })
    }

    /// Makes an entry for a request that is about to be sent. Fails where nothing will be answered any more.
    pub(super) fn enter(&self, outgoing: &Outgoing<'_>) -> Result<Reply, LinkError> {
        let (reply, answer) = oneshot::channel();
        let (progress, pulse) = (outgoing.progress.clone(), outgoing.pulse.clone());
        self.lock().insert(outgoing.id, Pending { reply, progress, pulse });
        // Looked at after the entry was made: whoever closes later finds the entry and fails it.
        match self.closed.borrow().clone() {
            Some(reason) => {
                self.leave(outgoing.id);
                Err(LinkError::Closed(reason))
            }
            None => Ok(answer),
        }
    }

    /// Takes an entry away; whether it was still waiting.
    pub(super) fn leave(&self, id: u64) -> bool {
        self.lock().remove(&id).is_some()
    }

    pub(super) fn finish(&self, id: u64, outcome: Result<Raw, LinkError>) {
        match self.lock().remove(&id) {
            // Whoever asked may be gone by now.
            Some(pending) => drop(pending.reply.send(outcome)),
            None => tracing::debug!(server = %self.name, id, "an answer nobody waits for was dropped"),
        }
    }

    /// Nothing will be answered any more: fails what still waits. The first reason counts.
    pub(super) fn close(&self, reason: &str) {
        self.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            if first {
                *closed = Some(reason.to_owned());
            }
            first
        });
        let pending: Vec<Pending> = self.lock().drain().map(|(_, pending)| pending).collect();
        for pending in pending {
            let _ = pending.reply.send(Err(self.lost("")));
        }
    }

    /// The error of a request that this connection can no longer carry.
    pub(super) fn lost(&self, otherwise: &str) -> LinkError {
        LinkError::Closed(self.closed.borrow().clone().unwrap_or_else(|| otherwise.to_owned()))
    }

    /// Ends when the connection has, with the reason.
    pub(super) async fn closed(&self) -> String {
        let mut closed = self.closed.subscribe();
        let reason = closed.wait_for(Option::is_some).await;
        reason.ok().and_then(|reason| reason.clone()).unwrap_or_default()
    }

    /// Takes a message or a batch of them; what is to be sent back.
    pub(super) fn take(&self, text: &[u8]) -> Vec<String> {
        match batch(text) {
            Some(Ok(items)) => items.iter().filter_map(|item| self.take_message(item.get().as_bytes())).collect(),
            _ => self.take_message(text).into_iter().collect(),
        }
    }

    /// Takes what was too large to be read: whoever it answers is told.
    pub(super) fn take_oversized(&self, head: &[u8], tail: &[u8], cap: usize) {
        match long_line::answered(head, tail) {
            Some(id) => self.finish(id, Err(LinkError::TooLarge(cap))),
            None => tracing::warn!(server = %self.name, "nobody can be told: the message shows no id"),
        }
    }

    fn take_message(&self, text: &[u8]) -> Option<String> {
        match inbound::sort(&self.name, &self.signals, text) {
            Ok(Inbound::Answer(response)) => {
                match inbound::number(response.id.as_ref()) {
                    Some(id) => self.finish(id, response.outcome.map_err(LinkError::Rpc)),
                    None => tracing::warn!(server = %self.name, "an answer without a usable id was dropped"),
                }
                None
            }
            Ok(Inbound::Reply(reply)) => Some(reply),
            Ok(Inbound::Progress(token, params)) => {
                self.take_progress(token, params);
                None
            }
            Ok(Inbound::Nothing) => None,
            Err(Fault { id, error }) => {
                self.take_fault(text, id, &error);
                None
            }
        }
    }

    fn take_progress(&self, token: u64, params: Raw) {
        let pending = self.lock();
        let Some(pending) = pending.get(&token) else { return };
        if let Some(pulse) = &pending.pulse {
            pulse.beat();
        }
        if let Some(progress) = &pending.progress {
            progress.push(params);
        }
    }

    /// A malformed answer fails the call it names; anything else on the stream is noise to log.
    fn take_fault(&self, text: &[u8], id: Option<Id>, error: &RpcError) {
        let shown: String = String::from_utf8_lossy(text).chars().take(200).collect();
        tracing::warn!(server = %self.name, line = %shown, "not a message: {}", error.message());
        if let Some(id) = inbound::number(id.as_ref())
            && let Some(pending) = self.lock().remove(&id)
        {
            let _ = pending.reply.send(Err(LinkError::Protocol(error.message())));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
