//! One task per server that owns its connection: connect, list, watch, reconnect.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::breaker::Breaker;
use super::relist;
use super::relist::Ended;
use super::resubscribe;
use super::resubscribe::Keeper;
use super::side_connections::SideConnections;
use crate::backend::connection::cache::Cache;
use crate::backend::connection::connector::{Connector, Purpose};
use crate::backend::connection::established::Connection;
use crate::backend::connection::handshake::{Declared, Memory};
use crate::backend::handle::server_handle::{Handle, Limits, State};
use crate::backend::transport::signals::Signals;
use crate::config::{ServerConfig, TransportConfig};
use crate::model::{Abilities, BackendKind, BackendView, Lists, ServerInfo, Status};
use crate::wire::http::Pool;

const FIRST_BACKOFF: Duration = Duration::from_millis(500);
/// Calls to a dead server start it again at once, but not more often than this.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// What all servers share.
#[derive(Clone, Debug)]
pub struct Environment {
    pub pool: Pool,
    pub cache: Cache,
    /// What `command: proxy` means.
    pub executable: PathBuf,
    pub variables: Vec<(String, String)>,
    /// Told whenever a server's view changed.
    pub changes: Arc<Notify>,
    /// What the only client of this proxy can do, as soon as that is known: then no server needs a second connection.
    pub sole_client: Arc<ArcSwapOption<Abilities>>,
}

/// What is known of a server that is not connected.
pub fn idle_view(name: &str, server: &ServerConfig, cache: &Cache) -> BackendView {
    let kind = match server.transport {
        TransportConfig::Stdio { .. } => BackendKind::Stdio,
        TransportConfig::Http { .. } => BackendKind::Http,
    };
    let cached = cache.load(name, server);
    let status = if cached.is_some() { Status::Cached } else { Status::Starting };
    let (info, lists) = cached.unwrap_or_default();
    BackendView {
        name: name.into(),
        kind,
        status,
        error: String::new(),
        info: Arc::new(info),
        lists: Arc::new(lists),
        start_time: None,
        reports: Arc::default(),
    }
}

/// Starts the supervision of a server. Returns at once.
pub fn start(name: &str, server: &ServerConfig, environment: &Environment) -> Handle {
    let name: Arc<str> = name.into();
    let view = idle_view(&name, server, &environment.cache);
    let saved = (view.status == Status::Cached).then(|| (Arc::clone(&view.info), Arc::clone(&view.lists)));
    let (state_sender, state) = watch::channel(State::default());
    let connector = Arc::new(Connector::new(&name, server, environment));
    let stop = CancellationToken::new();
    let handle = Handle {
        name: Arc::clone(&name),
        view: Arc::new(ArcSwap::from_pointee(view)),
        state,
        reconnect_now: Arc::default(),
        patience: Limits {
            quiet: server.timeout,
            limit: server.max_timeout.max(server.timeout),
            max_concurrent: server.max_concurrent,
        },
        turns: Arc::new(Semaphore::new(server.max_concurrent.min(Semaphore::MAX_PERMITS))),
        breaker: Breaker::new(&name, server.circuit_breaker),
        input_timeout: server.input_timeout,
        session_scoped: server.session_scoped,
        sides: Arc::new(SideConnections::new(Arc::clone(&connector), stop.clone())),
        stop,
        stopped: CancellationToken::new(),
        subscriptions: Arc::default(),
        freshness: Arc::default(),
    };
    let supervisor = Supervisor {
        name,
        server: server.clone(),
        environment: environment.clone(),
        handle: handle.clone(),
        state: state_sender,
        memory: Memory::default(),
        connector,
        down_since: Instant::now(),
        last_attempt: None,
        saved,
    };
    tokio::spawn(supervisor.run());
    handle
}

pub(crate) struct Supervisor {
    pub(crate) name: Arc<str>,
    pub(crate) server: ServerConfig,
    environment: Environment,
    pub(crate) handle: Handle,
    state: watch::Sender<State>,
    memory: Memory,
    connector: Arc<Connector>,
    /// When it was last known to work.
    down_since: Instant,
    last_attempt: Option<Instant>,
    /// What the cache holds.
    saved: Option<(Arc<ServerInfo>, Arc<Lists>)>,
}

impl Supervisor {
    async fn run(mut self) {
        let stop = self.handle.stop.clone();
        // Told however this task ends, so that nobody waits for a supervisor that is gone.
        let _stopped = self.handle.stopped.clone().drop_guard();
        let mut backoff = FIRST_BACKOFF;
        loop {
            self.last_attempt = Some(Instant::now());
            let grace = self.grace_over();
            let attempt = tokio::select! {
                outcome = self.connect() => outcome,
                () = grace => return,
                () = stop.cancelled() => return,
            };
            match attempt {
                Ok(connection) => {
                    let ended = self.serve(connection, &stop).await;
                    if stop.is_cancelled() {
                        return;
                    }
                    // A server that shakes hands and then fails has not worked, however often it does so.
                    if ended.listed {
                        backoff = FIRST_BACKOFF;
                    }
                    self.went_down(&ended);
                }
                Err(reason) => {
                    tracing::warn!(server = %self.name, "cannot be used: {reason}");
                    self.failed(&reason);
                }
            }
            tokio::select! {
                () = self.pause(backoff) => {}
                () = self.grace_over() => return,
                () = stop.cancelled() => return,
            }
            backoff = (backoff * 2).min(self.server.max_backoff);
        }
    }

    async fn connect(&mut self) -> Result<Arc<Connection>, String> {
        let declared = match self.server.session_scoped {
            true => Declared::These(Abilities::default()),
            false => Declared::OfSoleClient(Arc::clone(&self.environment.sole_client)),
        };
        let signals = Arc::new(Signals::new(&self.handle.subscriptions));
        self.connector.connect(&mut self.memory, Purpose { declared, signals, client: None }).await
    }

    /// Lists, then watches until the connection ends.
    async fn serve(&mut self, connection: Arc<Connection>, stop: &CancellationToken) -> Ended {
        self.handle.breaker.connected();
        self.state.send_modify(|state| {
            state.connection = Some(Arc::clone(&connection));
            state.connections += 1;
        });
        let listener = tokio::spawn(Arc::clone(&connection).listen());
        let subscriber = tokio::spawn(resubscribe::keep(Keeper::new(
            &self.name,
            self.server.timeout,
            &self.handle.subscriptions,
            &connection,
        )));
        let ended = relist::follow(self, &connection, stop).await;
        for task in [listener, subscriber] {
            task.abort();
            let _ = task.await;
        }
        self.state.send_modify(|state| state.connection = None);
        connection.stop().await;
        ended
    }

    /// Keeps what a connection has shown, for the catalog and for the next start.
    pub(crate) async fn show(&mut self, info: &Arc<ServerInfo>, lists: Lists, reports: Vec<String>) {
        let (lists, info) = (Arc::new(lists), Arc::clone(info));
        self.save(&info, &lists).await;
        self.publish(Status::Ready, String::new(), Some((info, lists, reports)));
    }

    async fn save(&mut self, info: &Arc<ServerInfo>, lists: &Arc<Lists>) {
        if self.saved.as_ref().is_some_and(|(old_info, old_lists)| old_info == info && old_lists == lists) {
            return;
        }
        self.saved = Some((Arc::clone(info), Arc::clone(lists)));
        let (cache, name, server) = (self.environment.cache.clone(), Arc::clone(&self.name), self.server.clone());
        let (info, lists) = (Arc::clone(info), Arc::clone(lists));
        let saving = tokio::task::spawn_blocking(move || {
            if let Err(error) = cache.save(&name, &server, &info, &lists) {
                tracing::debug!(server = %name, %error, "keeping the lists");
            }
        });
        // Waited for, so that whoever sees the lists can rely on them being kept.
        let _ = saving.await;
    }

    /// Waits out the backoff; a call cuts it short.
    async fn pause(&self, backoff: Duration) {
        let since = self.last_attempt.unwrap_or_else(Instant::now);
        let earliest = since + MIN_PAUSE.min(backoff);
        let next = Instant::now() + backoff;
        let called = async {
            self.handle.reconnect_now.notified().await;
            tokio::time::sleep_until(earliest).await;
        };
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            () = called => {}
        }
    }

    /// A lost connection is no failed attempt: a call that waits for the next one goes on waiting.
    fn went_down(&mut self, ended: &Ended) {
        let reason = ended.reason.as_str();
        tracing::warn!(server = %self.name, "lost: {reason}");
        if ended.listed {
            self.down_since = Instant::now();
        }
        self.state.send_modify(|state| state.error = reason.to_owned());
        self.publish_down(reason);
    }

    fn failed(&mut self, reason: &str) {
        self.state.send_modify(|state| {
            state.failures += 1;
            state.error = reason.to_owned();
        });
        self.publish_down(reason);
    }

    fn publish_down(&self, reason: &str) {
        let known = self.handle.view.load().lists.as_ref() != &Lists::default();
        let in_grace = Instant::now() < self.down_since + self.server.grace;
        let status = if known && in_grace { Status::Cached } else { Status::Failed };
        let said = self.connector.last_words.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let told = if said.is_empty() { reason.to_owned() } else { format!("{reason}; it last said: {said}") };
        self.publish(status, told, None);
    }

    /// Takes the tools of a server that is away off the list when its grace period ends, whatever else is going on: an
    /// attempt to bring it back may take long. Never ends.
    pub(crate) fn grace_over(&self) -> impl Future<Output = ()> + Send + use<> {
        let end = self.down_since + self.server.grace;
        let (view, changes) = (Arc::clone(&self.handle.view), Arc::clone(&self.environment.changes));
        async move {
            tokio::time::sleep_until(end).await;
            let now = view.load_full();
            if now.status == Status::Cached {
                view.store(Arc::new(BackendView { status: Status::Failed, ..BackendView::clone(&now) }));
                changes.notify_one();
            }
            std::future::pending().await
        }
    }

    fn publish(&self, status: Status, error: String, news: Option<(Arc<ServerInfo>, Arc<Lists>, Vec<String>)>) {
        let old = self.handle.view.load();
        let mut view = BackendView::clone(&old);
        (view.status, view.error) = (status, error);
        if status == Status::Ready && view.start_time.is_none() {
            view.start_time = self.last_attempt.map(|attempt| attempt.elapsed());
        }
        if let Some((info, lists, reports)) = news {
            (view.info, view.lists, view.reports) = (info, lists, Arc::new(reports));
        }
        // A server may say that its lists changed when they did not.
        if view == **old {
            return;
        }
        self.handle.view.store(Arc::new(view));
        self.environment.changes.notify_one();
    }
}
