//! Refreshes of resources that clients follow: the handler runs outside of any request, and its result is compared with the
//! previous one. The handler cannot ask the client for input, and `on_request` is not called.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::runtime::Handle;

use super::call::Calls;
use super::context::RequestContext;
use super::handler::host::RequestHost;
use super::handler::observer::RunObserver;
use super::permit::Permit;
use crate::surface::{Surface, UpdateSource};
use proxy_base::watch::StampedFile;
use proxy_builtins::Handler;
use proxy_json::{Raw, raw};
use proxy_mcp_client::{BackendCall, CallError};
use proxy_model::{ItemKind, shaped_contents};
use proxy_script::{Function, Limits};

/// The method of a refresh, as handlers see it.
const METHOD: &str = "notifications/resources/updated";

/// How a published resource is refreshed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshTarget {
    pub source: UpdateSource,
    /// The minimum time between two refreshes.
    pub interval: Duration,
    /// The run of the script that made the handler; handlers of another run may return something else for the same URI. An
    /// extension has one handler for everybody.
    pub run: u64,
}

/// The outcome of a refresh.
#[derive(Debug)]
pub struct Refreshed {
    /// The contents; or why there are none, for the log.
    pub result: Result<Raw, String>,
    /// Whether the result may differ for another owner.
    pub is_personal: bool,
    /// The files that the handler loaded.
    pub files: BTreeSet<StampedFile>,
}

impl Calls {
    /// How a published resource is refreshed; `None` if it is not: it has no `refresh`, or is that of a server, which tells of
    /// updates itself.
    pub fn refresh_target(&self, surface: &Surface, uri: &str) -> Option<RefreshTarget> {
        let source = surface.updates_of(uri).ok()?;
        let (interval, run) = match &source {
            UpdateSource::Backend { backend, original } => (self.dispatcher.refresh_interval(backend, original)?, 0),
            UpdateSource::Script => {
                let entry = surface.find(ItemKind::Resource, uri)?;
                let Handler::Script(_) = &entry.handler else { return None };
                (entry.refresh?, surface.run.number)
            }
        };
        Some(RefreshTarget { source, interval, run })
    }

    /// Runs the handler of a resource for a client that follows it. `None` if this client may not read it now.
    pub async fn refresh(&self, request: &RequestContext, uri: &str, source: &UpdateSource) -> Option<Refreshed> {
        let entry = request.surface.find(ItemKind::Resource, uri)?;
        // Whoever follows it had the scopes when they subscribed.
        let item = entry.access_item(request.surface.published_key(ItemKind::Resource, uri));
        let permit = request.access_check(self.dispatcher.policies()).ask(item, None, "").ok()?;
        let observer = Arc::new(RunObserver::default());
        let outcome = match (source, &entry.handler) {
            (UpdateSource::Backend { backend, original }, _) => {
                self.refresh_extension(request, backend, original, permit, &observer).await
            }
            (UpdateSource::Script, Handler::Script(function)) => {
                // The policies decide about every call that the handler makes, for this caller.
                if self.dispatcher.policies().get().is_some() {
                    observer.note_personal();
                }
                self.refresh_script(request, uri, function.clone(), &observer).await
            }
            (UpdateSource::Script, Handler::Backend(_)) => return None,
        };
        Some(Refreshed { result: outcome, is_personal: observer.is_personal(), files: observer.take_files() })
    }

    async fn refresh_extension(
        &self,
        request: &RequestContext,
        backend: &Arc<str>,
        original: &str,
        permit: Permit,
        observer: &Arc<RunObserver>,
    ) -> Result<Raw, String> {
        let host = self.refresh_host(request, original, observer);
        let call = BackendCall {
            cancel: request.cancel.clone(),
            peer: request.peer.clone(),
            host: Some(Arc::new(host).host()),
            ..BackendCall::new(ItemKind::Resource.use_method(), raw(&json!({ "uri": original })))
        };
        match self.dispatcher.refresh(backend, call, permit).await {
            Ok(answer) => Ok(answer.result),
            Err(CallError::Failed { message, .. }) => Err(message),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn refresh_script(
        &self,
        request: &RequestContext,
        uri: &str,
        function: Function,
        observer: &Arc<RunObserver>,
    ) -> Result<Raw, String> {
        let host = Arc::new(self.refresh_host(request, uri, observer)).host();
        let arguments = raw(&json!({ "uri": uri }));
        // The surface owns the code of the function.
        let surface = Arc::clone(&request.surface);
        let run = self.pool.run(move || {
            let _surface = surface;
            function.call(&arguments, host, &Limits::HANDLER)
        });
        let outcome = tokio::select! {
            biased;
            () = request.cancel.cancelled() => return Err(CallError::Cancelled.to_string()),
            outcome = run => outcome,
        };
        match outcome {
            Ok(Ok(returned)) => shaped_contents(returned, uri).map(|contents| raw(&contents)),
            Ok(Err(failure)) => Err(failure.diagnostic.to_string()),
            Err(error) => Err(format!("the handler of `{uri}` did not finish: {error}")),
        }
    }

    fn refresh_host(&self, request: &RequestContext, uri: &str, observer: &Arc<RunObserver>) -> RequestHost {
        let info = request.info(METHOD.into(), uri.into());
        let (peer, cancel) = (request.peer.clone(), request.cancel.clone());
        let namespace = Arc::clone(&request.surface.run.namespace);
        // There is no journal: nothing is asked here.
        let host = self.request_host(info, peer, cancel, Handle::current(), namespace, None);
        let (surface, observer) = (Some(Arc::clone(&request.surface)), Some(Arc::clone(observer)));
        RequestHost { surface, observer, ..host }
    }
}
