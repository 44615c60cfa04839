//! Finds the client that a server message belongs to.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{AbandonedRequest, PendingRequests};
use crate::call::Peer;
use crate::transport::server_requests::{NoRecipient, Recipient};

impl PendingRequests {
    /// Pauses the reader of a shared connection while all its calls belong to one client that does not read (backpressure).
    /// As soon as another client waits for this server, reading continues, and messages that do not fit are dropped.
    pub(crate) async fn room(&self) {
        if !self.passed_on.swap(false, Ordering::Relaxed) {
            return;
        }
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let Some(room) = self.sole_caller().and_then(|peer| peer.room()) else { return };
            tokio::select! {
                () = room => return,
                () = changed => {}
            }
        }
    }

    /// The client of all requests, if they belong to the same client.
    fn sole_caller(&self) -> Option<Arc<dyn Peer>> {
        let requests = self.lock();
        let mut peers = requests.values().map(|request| request.peer.as_ref());
        let first = peers.next()??;
        peers.all(|peer| peer.is_some_and(|peer| peer.owner() == first.owner())).then(|| Arc::clone(first))
    }

    pub(super) fn recipient_of(&self, call: u64) -> Option<Recipient> {
        let requests = self.lock();
        let request = requests.get(&call)?;
        let peer = Arc::clone(request.peer.as_ref()?);
        Some(Recipient { call: Some(call), peer, activity: request.activity.clone() })
    }

    /// The newest call, if all calls on the connection belong to one client; as the message may be about any of them, what guards
    /// the others applies, too. Without calls, the connection's sole client.
    pub(super) fn sole_recipient(&self) -> Result<Recipient, NoRecipient> {
        let requests = self.lock();
        let mut calls = requests.iter().filter_map(|(id, request)| Some((*id, request.peer.as_ref()?, request)));
        let Some((mut newest, mut peer, mut request)) = calls.next() else {
            let client = self.sole_client.get().ok_or(NoRecipient::NoCall)?;
            return Ok(Recipient { call: None, peer: Arc::clone(client), activity: None });
        };
        let mut others = Vec::new();
        for (id, other_peer, other_request) in calls {
            if other_peer.owner() != peer.owner() {
                return Err(NoRecipient::SeveralOwners);
            }
            if id > newest {
                others.push(peer);
                (newest, peer, request) = (id, other_peer, other_request);
            } else {
                others.push(other_peer);
            }
        }
        let now = Instant::now();
        let is_foreign = |left: &AbandonedRequest| left.expires > now && left.owner != *peer.owner();
        if self.lock_abandoned().iter().any(is_foreign) {
            return Err(NoRecipient::SeveralOwners);
        }
        let guarded = others.iter().fold(Arc::clone(peer), |guarded, other| other.guarding(guarded));
        Ok(Recipient { call: Some(newest), peer: guarded, activity: request.activity.clone() })
    }

    /// Whether no call on the connection keeps its messages back. While one does, a message that does not say to which call
    /// it belongs may be that call's.
    pub(super) fn all_relay(&self) -> bool {
        let now = Instant::now();
        let calls_relay = self.lock().values().filter_map(|request| request.peer.as_ref()).all(|peer| peer.relays());
        calls_relay && self.lock_abandoned().iter().all(|left| left.relays || left.expires <= now)
    }
}
