//! The handle of a supervised server.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::future::BoxFuture;

use super::{complete, subscribe};
use crate::call::{
    Answer, Backend, BackendCall, CacheHint, CallError, ConnectedBackend, LocalBackend, MissingLists, Peer,
    PerPersonBackend, Subscriber, Subscription, UpdateListener,
};
use crate::connection::{Environment, ServerSession};
use crate::supervision::{Rest, RestartOutcome, SupervisedServer, supervise};
use crate::transport::RunningProcess;
use proxy_config::ServerConfig;
use proxy_fiber::boxed_in_place;
use proxy_json::Raw;
use proxy_model::lock::ViewLock;
use proxy_model::{BackendView, ClientProfile, ItemKind, Owner, ServerAddress, Status};

/// Starts the supervision of a server. Returns at once.
pub fn start(name: &str, server: &ServerConfig, environment: &Environment) -> Handle {
    Handle(supervise(name, server, environment))
}

/// A supervised server. Clones refer to the same server.
#[derive(Clone, Debug)]
pub struct Handle(Arc<SupervisedServer>);

/// How busy a server is.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerLoad {
    pub running: usize,
    /// Calls in the queue for `maxConcurrent`.
    pub waiting: usize,
    pub breaker_open: bool,
}

impl Handle {
    /// Stops the server without waiting for it.
    pub(crate) fn begin_stop(&self) {
        self.0.stop.cancel();
    }

    /// Starts a server that rests, as a call would.
    pub fn wake(&self) {
        self.0.reconnect_if_down();
    }

    /// Ends the connections of the server, connects anew, and waits for the outcome.
    pub async fn restart(&self) -> RestartOutcome {
        self.0.restart().await
    }

    /// Ends a session at the server that no process goes on with.
    pub async fn end_session(&self, session: &ServerSession) {
        self.0.end_session(session).await;
    }

    /// How often the server was reconnected after its connection had been lost.
    pub fn restarts(&self) -> u64 {
        self.0.reconnections()
    }

    /// The calls that run and wait now.
    pub fn load(&self) -> ServerLoad {
        let server = &self.0;
        ServerLoad {
            running: server.limits.max_concurrent.saturating_sub(server.call_slots.available_permits()),
            waiting: server.queued.load(Ordering::Relaxed),
            breaker_open: server.breaker.is_open(),
        }
    }

    /// The processes of the server that are running: one, and one for each client that needs its own.
    pub fn processes(&self) -> Vec<RunningProcess> {
        self.0.processes()
    }

    /// The rest of the server; `None` if it does not rest.
    pub fn rest(&self) -> Option<Rest> {
        self.0.holds.current_rest()
    }

    /// Whether a server that rested is being started, because it is needed.
    pub fn is_waking(&self) -> bool {
        !self.0.rests() && self.0.view.load().status == Status::Resting
    }

    /// Whether the server has stopped completely.
    pub fn is_gone(&self) -> bool {
        self.0.stopped.is_cancelled()
    }

    /// Stops the server and waits until it has stopped.
    pub async fn stop(&self) {
        self.0.stop.cancel();
        self.0.side_connections.close_all().await;
        self.0.stopped.cancelled().await;
    }
}

impl Backend for Handle {
    fn view(&self) -> Arc<BackendView> {
        self.0.published_view()
    }

    fn lock(&self, client: Option<&dyn Peer>) -> Option<Arc<ViewLock>> {
        self.0.lock(|| client.map(|client| client.profile()))
    }

    fn call(&self, call: BackendCall) -> BoxFuture<'_, Result<Answer, CallError>> {
        Box::into_pin(boxed_in_place(|| complete::call_to_completion(&self.0, call)))
    }

    fn call_blocking(&self, call: BackendCall, runtime: &tokio::runtime::Handle) -> Result<Answer, CallError> {
        proxy_fiber::wait(self.call(call), runtime)
    }

    fn is_in_process(&self) -> bool {
        false
    }

    fn connected(&self) -> Option<&dyn ConnectedBackend> {
        Some(self)
    }

    fn local(&self) -> Option<&dyn LocalBackend> {
        None
    }

    fn per_person(&self) -> Option<&dyn PerPersonBackend> {
        None
    }
}

impl ConnectedBackend for Handle {
    fn address(&self) -> Option<Arc<ServerAddress>> {
        self.0.address.clone()
    }

    fn subscribe<'a>(
        &'a self,
        uri: &'a str,
        follower: &'a Subscriber,
        listener: UpdateListener,
    ) -> BoxFuture<'a, Result<Subscription, CallError>> {
        Box::pin(subscribe::subscribe(&self.0, uri, follower, listener))
    }

    fn introduce(&self, profile: ClientProfile) {
        self.0.show_cached(profile);
    }

    fn prepare<'a>(&'a self, profile: ClientProfile, person: &'a Owner) -> BoxFuture<'a, ()> {
        Box::pin(self.0.prepare(profile, person))
    }

    fn missing_lists(&self, profile: ClientProfile) -> Option<MissingLists> {
        self.0.missing_lists(profile)
    }

    fn list_for<'a>(&'a self, profile: ClientProfile, person: &'a Owner) -> BoxFuture<'a, ()> {
        Box::pin(self.0.list_for(profile, person))
    }

    fn cache_hint(&self, kind: ItemKind, profile: ClientProfile) -> CacheHint {
        self.0.cache_hint(kind, profile)
    }

    fn refresh(&self, kind: ItemKind, profile: ClientProfile) -> BoxFuture<'_, ()> {
        Box::pin(self.0.refresh(kind, profile))
    }

    fn notify(&self, method: String, params: Option<Raw>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // With `scope: session` the main connection belongs to no client.
            let Some(connection) = self.0.live_connection(None).filter(|_| !self.0.session_scoped) else { return };
            if let Err(error) = connection.notify(&method, params.as_deref()).await {
                tracing::debug!(server = %self.0.name, method, %error, "a notification was not delivered");
            }
        })
    }

    fn roots_changed<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, ()> {
        Box::pin(self.0.roots_changed(owner))
    }
}
