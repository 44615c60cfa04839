//! The one point through which every call reaches a backend, whoever made it. Limits and policy belong here, so that
//! nothing can go around them.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::stats::{CallStats, StatsByBackend};
use crate::backend::{Answer, Backend, BackendCall, CallError, Listener, Subscriber, Subscription};
use crate::json::Raw;
use crate::model::Owner;

/// The backends of one moment, by name.
#[derive(Clone)]
pub struct Dispatcher {
    backends: Arc<HashMap<Arc<str>, Entry>>,
    stats: Arc<StatsByBackend>,
}

struct Entry {
    backend: Arc<dyn Backend>,
    stats: Arc<CallStats>,
}

impl Dispatcher {
    pub fn new(backends: &[Arc<dyn Backend>]) -> Self {
        Dispatcher { backends: Arc::default(), stats: Arc::default() }.with(backends)
    }

    /// The same for other backends. Of two with one name it is the later one.
    pub fn with(&self, backends: &[Arc<dyn Backend>]) -> Self {
        let entries = backends.iter().map(|backend| {
            let name = Arc::clone(&backend.view().name);
            let stats = self.stats.of(&name);
            (name, Entry { backend: Arc::clone(backend), stats })
        });
        Dispatcher { backends: Arc::new(entries.collect()), stats: Arc::clone(&self.stats) }
    }

    /// How often a backend was called so far.
    pub fn stats(&self, backend: &Arc<str>) -> Arc<CallStats> {
        self.stats.of(backend)
    }

    pub async fn call(&self, backend: &Arc<str>, call: BackendCall) -> Result<Answer, CallError> {
        let entry = self.find(backend)?;
        let outcome = entry.backend.call(call).await;
        entry.stats.note(&outcome);
        outcome
    }

    /// Follows a resource of a backend until the subscription is dropped.
    pub async fn subscribe(
        &self,
        backend: &Arc<str>,
        uri: &str,
        follower: &Subscriber,
        listener: Listener,
    ) -> Result<Subscription, CallError> {
        self.find(backend)?.backend.subscribe(uri, follower, listener).await
    }

    /// The same for a handler, which waits. Local tools run on its very stack.
    pub fn call_blocking(&self, backend: &Arc<str>, call: BackendCall, runtime: &Handle) -> Result<Answer, CallError> {
        let entry = self.find(backend)?;
        let outcome = entry.backend.call_blocking(call, runtime);
        entry.stats.note(&outcome);
        outcome
    }

    /// Whether calls of a backend run in this process, as a part of the handler that makes them.
    pub fn is_in_process(&self, backend: &Arc<str>) -> bool {
        self.find(backend).is_ok_and(|entry| entry.backend.is_in_process())
    }

    /// Tells a backend something that has no answer.
    pub async fn notify(&self, backend: &Arc<str>, method: String, params: Option<Raw>) {
        if let Ok(entry) = self.find(backend) {
            entry.backend.notify(method, params).await;
        }
    }

    /// Tells every backend that has a connection of this client's own that its folders have changed.
    pub async fn roots_changed(&self, owner: &Owner) {
        for entry in self.backends.values() {
            entry.backend.roots_changed(owner).await;
        }
    }

    fn find(&self, backend: &Arc<str>) -> Result<&Entry, CallError> {
        self.backends.get(backend).ok_or_else(|| CallError::Down {
            backend: Arc::clone(backend),
            reason: "it is no longer configured".to_owned(),
        })
    }
}
