//! Stops a server when it is no longer used: neither by the config nor by a call that started while it was configured.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::server_handle::Handle;
use crate::call::{Answer, Backend, BackendCall, CallError, ConnectedBackend, LocalBackend, Peer, PerPersonBackend};
use proxy_model::BackendView;
use proxy_model::lock::ViewLock;

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

    fn lock(&self, client: Option<&dyn Peer>) -> Option<Arc<ViewLock>> {
        self.0.lock(client)
    }

    fn call(&self, call: BackendCall) -> BoxFuture<'_, Result<Answer, CallError>> {
        self.0.call(call)
    }

    fn call_blocking(&self, call: BackendCall, runtime: &tokio::runtime::Handle) -> Result<Answer, CallError> {
        self.0.call_blocking(call, runtime)
    }

    fn is_in_process(&self) -> bool {
        self.0.is_in_process()
    }

    fn connected(&self) -> Option<&dyn ConnectedBackend> {
        self.0.connected()
    }

    fn local(&self) -> Option<&dyn LocalBackend> {
        self.0.local()
    }

    fn per_person(&self) -> Option<&dyn PerPersonBackend> {
        self.0.per_person()
    }
}
