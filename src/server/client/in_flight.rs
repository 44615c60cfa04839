//! Requests of one client that are being worked on, by the client's own ids.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::json::{Object, RawRef};
use crate::wire::{Id, Notification, RpcError};

/// More at once than any honest client has.
const LIMIT: usize = 10_000;

#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight(Arc<Mutex<HashMap<Id, CancellationToken>>>);

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, HashMap<Id, CancellationToken>> {
        self.0.lock()
    }

    /// Takes a request in. Two at once under one id could not be told apart.
    pub(crate) fn begin(&self, id: &Id) -> Result<Running, RpcError> {
        let mut requests = self.lock();
        if requests.len() >= LIMIT {
            return Err(RpcError::internal("too many requests at once"));
        }
        if requests.contains_key(id) {
            return Err(RpcError::invalid_request("this id is in use by a request that is not answered yet"));
        }
        let cancel = CancellationToken::new();
        requests.insert(id.clone(), cancel.clone());
        Ok(Running { requests: self.clone(), id: id.clone(), cancel })
    }

    /// Acts on what a client says unasked, as far as it concerns its requests.
    pub(crate) fn take_notification(&self, notification: &Notification) {
        if notification.method == "notifications/cancelled" {
            self.cancel(notification.params.as_deref());
        }
    }

    /// Acts on `notifications/cancelled`; an id that is not there is ignored.
    fn cancel(&self, params: Option<&RawRef>) {
        let Some(Ok(params)) = params.map(Object::of) else { return };
        let id = params.get("requestId").and_then(|id| Id::parse(id.get()));
        if let Some(token) = id.and_then(|id| self.lock().get(&id).cloned()) {
            token.cancel();
        }
    }

    pub(crate) fn cancel_all(&self) {
        for token in self.lock().values() {
            token.cancel();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }
}

/// One running request; leaves the table when it is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    requests: InFlight,
    id: Id,
    pub(crate) cancel: CancellationToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.requests.lock().remove(&self.id);
    }
}
