//! Stops a server when it is no longer used: neither by the config nor by a call that started while it was configured.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::server_handle::Handle;
use crate::backend::call::{Answer, Backend, BackendCall, CacheHint, CallError, Listener, Subscriber, Subscription};
use crate::json::Raw;
use crate::model::{BackendView, ClientProfile, ItemKind, Owner};

/// A handle that stops its server when dropped.
#[derive(Debug)]
pub struct StopOnDrop(Handle);

impl StopOnDrop {
    pub fn new(handle: Handle) -> Self {
        StopOnDrop(handle)
    }

    pub fn handle(&self) -> &Handle {
        &self.0
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.begin_stop();
    }
}

impl Backend for StopOnDrop {
    fn view(&self) -> Arc<BackendView> {
        self.0.view()
    }

    fn call(&self, call: BackendCall) -> BoxFuture<'_, Result<Answer, CallError>> {
        self.0.call(call)
    }

    fn subscribe<'a>(
        &'a self,
        uri: &'a str,
        follower: &'a Subscriber,
        listener: Listener,
    ) -> BoxFuture<'a, Result<Subscription, CallError>> {
        self.0.subscribe(uri, follower, listener)
    }

    fn prepare<'a>(&'a self, profile: ClientProfile, person: &'a Owner) -> BoxFuture<'a, ()> {
        self.0.prepare(profile, person)
    }

    fn cache_hint(&self, kind: ItemKind, profile: ClientProfile) -> CacheHint {
        self.0.cache_hint(kind, profile)
    }

    fn refresh(&self, kind: ItemKind, profile: ClientProfile) -> BoxFuture<'_, ()> {
        self.0.refresh(kind, profile)
    }

    fn notify(&self, method: String, params: Option<Raw>) -> BoxFuture<'_, ()> {
        self.0.notify(method, params)
    }

    fn roots_changed<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, ()> {
        self.0.roots_changed(owner)
    }

    fn is_in_process(&self) -> bool {
        self.0.is_in_process()
    }

    fn call_blocking(&self, call: BackendCall, runtime: &tokio::runtime::Handle) -> Result<Answer, CallError> {
        self.0.call_blocking(call, runtime)
    }
}
