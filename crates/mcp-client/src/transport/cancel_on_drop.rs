//! Cancels a request whose caller has stopped waiting.

use super::outgoing::Outgoing;
use super::pending::PendingRequests;
use crate::call::Cancellation;
use proxy_wire::encode;

/// Guards a request in flight. If it is dropped before [`CancelOnDrop::complete`], it removes the request from the table of
/// pending requests and passes `notifications/cancelled` to `send`.
pub(crate) struct CancelOnDrop<'a, F: FnOnce(String)> {
    /// The table that has an entry for the request, if there is one. No notification is sent once the entry is gone: the
    /// response has arrived.
    pending: Option<&'a PendingRequests>,
    id: u64,
    /// The cancellation of the call. It knows the client's reason when the guard is dropped.
    cancel: Option<&'a Cancellation>,
    /// `None` if the server must not be notified: it has not received the request yet, or it was a handshake.
    send: Option<F>,
    completed: bool,
}

impl<'a, F: FnOnce(String)> CancelOnDrop<'a, F> {
    pub(crate) fn new(pending: Option<&'a PendingRequests>, outgoing: &Outgoing<'a>, send: Option<F>) -> Self {
        CancelOnDrop { pending, id: outgoing.id, cancel: outgoing.cancel, send, completed: false }
    }

    /// From now on the server is notified. Called once the request has been sent.
    pub(crate) fn notify_by(&mut self, send: F) {
        self.send = Some(send);
    }

    /// The request has its response: nothing remains to be cancelled.
    pub(crate) fn complete(mut self) {
        self.completed = true;
    }
}

impl<F: FnOnce(String)> Drop for CancelOnDrop<'_, F> {
    fn drop(&mut self) {
        if self.completed {
            return;
        }
        let unanswered = self.pending.is_none_or(|pending| pending.abandon(self.id));
        if let Some(send) = self.send.take().filter(|_| unanswered) {
            let reason = self.cancel.and_then(Cancellation::reason);
            let reason = reason.map(|reason| format!(",\"reason\":{reason}")).unwrap_or_default();
            let params = format!("{{\"requestId\":{}{reason}}}", self.id);
            send(encode::notification("notifications/cancelled", Some(&params)));
        }
    }
}
