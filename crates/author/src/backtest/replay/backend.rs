//! A recorded server: a [`Backend`] that knows only the recorded results.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::answers::ReplayAnswers;
use proxy_mcp_client::{
    Answer, Backend, BackendCall, CallError, ConnectedBackend, LocalBackend, Peer, PerPersonBackend,
};
use proxy_model::BackendView;
use proxy_model::lock::ViewLock;

pub(super) struct ReplayBackend {
    pub(super) view: Arc<BackendView>,
    pub(super) answers: ReplayAnswers,
}

impl ReplayBackend {
    fn answer(&self, call: &BackendCall) -> Result<Answer, CallError> {
        self.answers.take(&self.view.name, &call.method, &call.params).map(|result| Answer { result })
    }
}

impl Backend for ReplayBackend {
    fn view(&self) -> Arc<BackendView> {
        Arc::clone(&self.view)
    }

    fn lock(&self, _: Option<&dyn Peer>) -> Option<Arc<ViewLock>> {
        None
    }

    fn call(&self, call: BackendCall) -> BoxFuture<'_, Result<Answer, CallError>> {
        Box::pin(std::future::ready(self.answer(&call)))
    }

    /// Local tools are not run again either.
    fn is_in_process(&self) -> bool {
        false
    }

    fn call_blocking(&self, call: BackendCall, _: &tokio::runtime::Handle) -> Result<Answer, CallError> {
        self.answer(&call)
    }

    fn connected(&self) -> Option<&dyn ConnectedBackend> {
        None
    }

    fn local(&self) -> Option<&dyn LocalBackend> {
        None
    }

    fn per_person(&self) -> Option<&dyn PerPersonBackend> {
        None
    }
}
