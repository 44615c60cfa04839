//! The running requests of one client by JSON-RPC id, so that `notifications/cancelled` can cancel them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use proxy_json::{Object, Raw, RawRef};
use proxy_mcp_client::Cancellation;
use proxy_wire::{Id, Notification, RpcError};

/// The maximum number of concurrent requests of one client: far more than a normal client sends.
const MAX_REQUESTS: usize = 10_000;

/// The running requests of one client. Clones share the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight(Arc<Mutex<HashMap<Id, Cancellation>>>);

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Cancellation>> {
        self.0.lock()
    }

    /// Registers a request. An id that is in use is an error, because the responses would be ambiguous.
    pub(crate) fn begin(&self, id: &Id) -> Result<InFlightRequest, RpcError> {
        let mut requests = self.lock();
        if requests.len() >= MAX_REQUESTS {
            return Err(RpcError::internal("too many concurrent requests"));
        }
        if requests.contains_key(id) {
            return Err(RpcError::invalid_request("the request id is in use by a request that is still running"));
        }
        let cancel = Cancellation::default();
        requests.insert(id.clone(), cancel.clone());
        Ok(InFlightRequest { requests: self.clone(), id: id.clone(), cancel })
    }

    /// Handles a notification of the client if it concerns running requests. Returns the params of a cancellation of a request
    /// that is not running here.
    pub(crate) fn take_notification<'a>(&self, notification: &'a Notification) -> Option<&'a Raw> {
        if notification.method != "notifications/cancelled" {
            return None;
        }
        let params = notification.params.as_ref()?;
        (!self.cancel(params)).then_some(params)
    }

    /// Handles the params of `notifications/cancelled`. Returns whether the request was running here.
    pub(crate) fn cancel(&self, params: &RawRef) -> bool {
        let Ok(params) = Object::of(params) else { return false };
        let id = params.get("requestId").and_then(|id| Id::parse(id.get()));
        let running = id.and_then(|id| self.lock().get(&id).cloned());
        if let Some(running) = &running {
            running.cancel(params.get("reason"));
        }
        running.is_some()
    }

    pub(crate) fn cancel_all(&self) {
        for running in self.lock().values() {
            running.cancel(None);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }
}

/// One running request. Dropping it removes it from the table.
#[derive(Debug)]
pub(crate) struct InFlightRequest {
    requests: InFlight,
    id: Id,
    pub(crate) cancel: Cancellation,
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.requests.lock().remove(&self.id);
    }
}
