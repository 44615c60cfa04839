//! The only path to a backend: every call passes through [`Dispatcher`], whether a client, a handler or the command
//! line makes it. The dispatcher looks up the backend and counts calls and failures. A check that must hold for every
//! call of a backend belongs here.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::logged_call::LoggedCall;
use super::stats::{CallStats, StatsByBackend};
use crate::backend::{Answer, Backend, BackendCall, CallError, Listener, Subscriber, Subscription};
use crate::json::Raw;
use crate::model::Owner;

/// The configured backends by name, with their call statistics. A reload creates a new dispatcher.
#[derive(Clone)]
pub struct Dispatcher {
    backends: Arc<HashMap<Arc<str>, DispatchTarget>>,
    stats: Arc<StatsByBackend>,
}

/// A backend and its statistics.
struct DispatchTarget {
    backend: Arc<dyn Backend>,
    stats: Arc<CallStats>,
}

impl Dispatcher {
    pub fn new(backends: &[Arc<dyn Backend>]) -> Self {
        Dispatcher { backends: Arc::default(), stats: Arc::default() }.with(backends)
    }

    /// A dispatcher for other backends that continues the statistics of this one. If two backends share a name, the
    /// last one wins.
    pub fn with(&self, backends: &[Arc<dyn Backend>]) -> Self {
        let targets = backends.iter().map(|backend| {
            let name = Arc::clone(&backend.view().name);
            let stats = self.stats.of(&name);
            (name, DispatchTarget { backend: Arc::clone(backend), stats })
        });
        Dispatcher { backends: Arc::new(targets.collect()), stats: Arc::clone(&self.stats) }
    }

    /// The call statistics of a backend.
    pub fn stats(&self, backend: &Arc<str>) -> Arc<CallStats> {
        self.stats.of(backend)
    }

    /// Calls a backend.
    pub async fn call(&self, backend: &Arc<str>, call: BackendCall) -> Result<Answer, CallError> {
        let target = self.find(backend)?;
        let outcome = target.backend.call(call).await;
        target.stats.record(&outcome);
        outcome
    }

    /// Subscribes to a resource of a backend until the returned subscription is dropped.
    pub async fn subscribe(
        &self,
        backend: &Arc<str>,
        uri: &str,
        subscriber: &Subscriber,
        listener: Listener,
    ) -> Result<Subscription, CallError> {
        match self.find(backend)?.backend.connected() {
            Some(server) => server.subscribe(uri, subscriber, listener).await,
            None => Err(CallError::no_subscriptions(backend)),
        }
    }

    /// Calls a backend from a handler and blocks the handler until the result arrives. Tools of extensions run on the
    /// handler's own stack.
    pub fn call_blocking(&self, backend: &Arc<str>, call: BackendCall, runtime: &Handle) -> Result<Answer, CallError> {
        let target = self.find(backend)?;
        let logged = LoggedCall::begin(backend, &call);
        let outcome = target.backend.call_blocking(call, runtime);
        target.stats.record(&outcome);
        if let Some(logged) = logged {
            logged.end(&outcome);
        }
        outcome
    }

    /// Whether calls of a backend run in this process, as a part of the handler that makes them.
    pub fn is_in_process(&self, backend: &Arc<str>) -> bool {
        self.find(backend).is_ok_and(|target| target.backend.is_in_process())
    }

    /// Sends a notification to a backend.
    pub async fn notify(&self, backend: &Arc<str>, method: String, params: Option<Raw>) {
        if let Some(server) = self.find(backend).ok().and_then(|target| target.backend.connected()) {
            server.notify(method, params).await;
        }
    }

    /// Sends `notifications/roots/list_changed` to every backend that has a connection of its own for this client.
    pub async fn roots_changed(&self, owner: &Owner) {
        for server in self.backends.values().filter_map(|target| target.backend.connected()) {
            server.roots_changed(owner).await;
        }
    }

    fn find(&self, backend: &Arc<str>) -> Result<&DispatchTarget, CallError> {
        self.backends.get(backend).ok_or_else(|| CallError::Down {
            backend: Arc::clone(backend),
            reason: "it is no longer configured".to_owned(),
        })
    }
}
