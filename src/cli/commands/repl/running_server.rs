//! A server of a running proxy, which the prompt uses instead of starting its own.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::admin::{ServerCallRequest, SurfaceReport};
use crate::cli::query::RunningProxy;
use proxy_config::{Config, ServerConfig};
use proxy_mcp_client::{
    Answer, Backend, BackendCall, CallError, ConnectedBackend, LocalBackend, Peer, PerPersonBackend, idle_view,
};
use proxy_model::lock::ViewLock;
use proxy_model::{BackendView, ClientProfile, ItemKind, Lists, Status};

pub(super) struct RunningServer {
    view: Arc<BackendView>,
    proxy: Arc<RunningProxy>,
}

impl RunningServer {
    /// The servers of a running proxy as they are now.
    pub(super) fn all(config: &Config, proxy: &Arc<RunningProxy>, report: &SurfaceReport) -> Vec<Arc<dyn Backend>> {
        let servers = config.servers.iter().filter(|(_, server)| !server.disabled);
        let backend = |(name, server): (&String, &ServerConfig)| {
            let mut lists = Lists::default();
            for kind in ItemKind::ALL {
                let items = report.offered.iter().filter(|item| item.kind == kind && item.server == *name);
                *lists.of_mut(kind) = items.map(|item| Arc::clone(&item.definition)).collect();
            }
            let state = report.servers.iter().find(|state| state.name == *name);
            let error = state.map(|state| state.error.as_str()).unwrap_or_default();
            let view = BackendView {
                lists: Arc::new(lists),
                status: if error.is_empty() { Status::Ready } else { Status::Failed },
                error: error.to_owned(),
                ..idle_view(name, server, &Default::default(), None, Some(ClientProfile::TERMINAL))
            };
            Arc::new(RunningServer { view: Arc::new(view), proxy: Arc::clone(proxy) }) as Arc<dyn Backend>
        };
        servers.map(backend).collect()
    }
}

impl Backend for RunningServer {
    fn view(&self) -> Arc<BackendView> {
        Arc::clone(&self.view)
    }

    fn lock(&self, _: Option<&dyn Peer>) -> Option<Arc<ViewLock>> {
        None
    }

    fn call(&self, call: BackendCall) -> BoxFuture<'_, Result<Answer, CallError>> {
        async move {
            let answered = self.proxy.call_server(ServerCallRequest {
                server: self.view.name.to_string(),
                method: call.method.into_owned(),
                params: call.params,
                timeout: call.timeout.and_then(|timeout| u64::try_from(timeout.as_millis()).ok()),
            });
            let result = tokio::select! {
                answered = answered => answered,
                () = call.cancel.cancelled() => Err(CallError::Cancelled),
            };
            result.map(|result| Answer { result })
        }
        .boxed()
    }

    fn call_blocking(&self, call: BackendCall, runtime: &tokio::runtime::Handle) -> Result<Answer, CallError> {
        proxy_fiber::wait(self.call(call), runtime)
    }

    fn is_in_process(&self) -> bool {
        false
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
