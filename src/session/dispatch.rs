//! The one point through which every call reaches a backend, whoever made it. Limits and policy belong here, so that
//! nothing can go around them.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::runtime::Handle;

use crate::backend::{Answer, Backend, Call, CallError, Follower, Listener, Subscription};
use crate::json::Raw;

/// The backends by name.
#[derive(Clone)]
pub struct Dispatcher {
    backends: Arc<HashMap<Arc<str>, Arc<dyn Backend>>>,
}

impl Dispatcher {
    pub fn new(backends: &[Arc<dyn Backend>]) -> Self {
        let backends = backends.iter().map(|backend| (Arc::clone(&backend.view().name), Arc::clone(backend))).collect();
        Dispatcher { backends: Arc::new(backends) }
    }

    pub async fn call(&self, backend: &Arc<str>, call: Call) -> Result<Answer, CallError> {
        self.find(backend)?.call(call).await
    }

    /// Follows a resource of a backend until the subscription is dropped.
    pub async fn subscribe(
        &self,
        backend: &Arc<str>,
        uri: &str,
        follower: &Follower,
        listener: Listener,
    ) -> Result<Subscription, CallError> {
        self.find(backend)?.subscribe(uri, follower, listener).await
    }

    /// The same for a handler, which waits. Local tools run on its very stack.
    pub fn call_blocking(&self, backend: &Arc<str>, call: Call, runtime: &Handle) -> Result<Answer, CallError> {
        self.find(backend)?.call_blocking(call, runtime)
    }

    /// Whether calls of a backend run in this process, as a part of the handler that makes them.
    pub fn runs_here(&self, backend: &Arc<str>) -> bool {
        self.find(backend).is_ok_and(|backend| backend.runs_here())
    }

    /// Tells a backend something that has no answer.
    pub async fn notify(&self, backend: &Arc<str>, method: String, params: Option<Raw>) {
        if let Ok(backend) = self.find(backend) {
            backend.notify(method, params).await;
        }
    }

    fn find(&self, backend: &Arc<str>) -> Result<&Arc<dyn Backend>, CallError> {
        self.backends.get(backend).ok_or_else(|| CallError::Down {
            backend: Arc::clone(backend),
            reason: "it is no longer configured".to_owned(),
        })
    }
}
