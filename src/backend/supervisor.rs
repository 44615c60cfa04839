//! One task per server that owns its connection: connect, list, watch, reconnect.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::cache::Cache;
use super::connection::{Connection, Patience};
use super::follow::{self, Ended};
use super::handle::{Handle, State};
use super::handshake::{self, HandshakeError, Memory};
use super::http_link::HttpLink;
use super::link::Link;
use super::signals::Signals;
use super::stdio_link::{LastWords, StdioLink};
use super::subscriber;
use crate::config::{Server, Transport};
use crate::model::{BackendKind, BackendView, Lists, ServerInfo, Status};
use crate::process::{Launch, base_environment};
use crate::wire::http::{HttpClient, Pool};

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
}

/// What is known of a server that is not connected.
pub fn idle_view(name: &str, server: &Server, cache: &Cache) -> BackendView {
    let kind = match server.transport {
        Transport::Stdio { .. } => BackendKind::Stdio,
        Transport::Http { .. } => BackendKind::Http,
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
pub fn start(name: &str, server: &Server, environment: &Environment) -> Handle {
    let name: Arc<str> = name.into();
    let view = idle_view(&name, server, &environment.cache);
    let saved = (view.status == Status::Cached).then(|| (Arc::clone(&view.info), Arc::clone(&view.lists)));
    let (state_sender, state) = watch::channel(State::default());
    let handle = Handle {
        name: Arc::clone(&name),
        view: Arc::new(ArcSwap::from_pointee(view)),
        state,
        kick: Arc::default(),
        patience: Patience { quiet: server.timeout, limit: server.max_timeout.max(server.timeout) },
        stop: CancellationToken::new(),
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
        last_words: LastWords::default(),
        down_since: Instant::now(),
        last_attempt: None,
        saved,
    };
    tokio::spawn(supervisor.run());
    handle
}

pub(super) struct Supervisor {
    pub(super) name: Arc<str>,
    pub(super) server: Server,
    environment: Environment,
    pub(super) handle: Handle,
    state: watch::Sender<State>,
    memory: Memory,
    last_words: LastWords,
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
        let limit = self.server.start_timeout;
        match tokio::time::timeout(limit, self.try_connect()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!("it did not start within {} s (`startTimeout`)", limit.as_secs_f32())),
        }
    }

    async fn try_connect(&mut self) -> Result<Arc<Connection>, String> {
        loop {
            let signals = Arc::new(Signals::new(&self.handle.subscriptions));
            let link = self.link(&signals)?;
            let settled =
                handshake::settle(&link, &self.server.protocol, self.server.probe_timeout, &mut self.memory).await;
            match settled {
                Ok(settled) => {
                    let connection = Connection::new(&self.name, link, settled.revision, settled.info, signals);
                    return Ok(Arc::new(connection));
                }
                Err(HandshakeError::DiedOfProbe) if !self.memory.skip_probe => {
                    link.stop().await;
                    self.memory.skip_probe = true;
                }
                Err(error) => {
                    link.stop().await;
                    return Err(error.to_string());
                }
            }
        }
    }

    fn link(&self, signals: &Arc<Signals>) -> Result<Link, String> {
        let cap = usize::try_from(self.server.max_message_bytes).unwrap_or(usize::MAX);
        match &self.server.transport {
            Transport::Stdio { command, args, env, cwd } => {
                let mut variables = base_environment(self.environment.variables.iter().cloned());
                variables.extend(env.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())));
                let program =
                    if command == "proxy" { self.environment.executable.clone() } else { PathBuf::from(command) };
                let launch = Launch { program, args: args.clone(), environment: variables, folder: cwd.clone() };
                self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clear();
                StdioLink::start(&self.name, &launch, cap, Arc::clone(signals), Arc::clone(&self.last_words))
                    .map(Link::Stdio)
                    .map_err(|error| cannot_start(&self.name, command, cwd.as_deref(), &error))
            }
            Transport::Http { url, headers } => HttpClient::new(&self.environment.pool, url, headers, cap)
                .map(|client| Link::Http(HttpLink::new(&self.name, client, Arc::clone(signals))))
                .map_err(|error| error.to_string()),
        }
    }

    /// Lists, then watches until the connection ends.
    async fn serve(&mut self, connection: Arc<Connection>, stop: &CancellationToken) -> Ended {
        self.state.send_modify(|state| state.connection = Some(Arc::clone(&connection)));
        let listener = tokio::spawn(Arc::clone(&connection).listen());
        let subscriber = tokio::spawn(subscriber::keep(self.handle.clone(), Arc::clone(&connection)));
        let ended = follow::follow(self, &connection, stop).await;
        for task in [listener, subscriber] {
            task.abort();
            let _ = task.await;
        }
        self.state.send_modify(|state| state.connection = None);
        connection.stop().await;
        ended
    }

    /// Keeps what a connection has shown, for the catalog and for the next start.
    pub(super) async fn show(&mut self, info: &Arc<ServerInfo>, lists: Lists, reports: Vec<String>) {
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
            self.handle.kick.notified().await;
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
        let said = self.last_words.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let told = if said.is_empty() { reason.to_owned() } else { format!("{reason}; it last said: {said}") };
        self.publish(status, told, None);
    }

    /// Takes the tools of a server that is away off the list when its grace period ends, whatever else is going on: an
    /// attempt to bring it back may take long. Never ends.
    pub(super) fn grace_over(&self) -> impl Future<Output = ()> + Send + use<> {
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

/// Clients see this, so it names no paths; the log does.
fn cannot_start(server: &str, command: &str, folder: Option<&Path>, error: &std::io::Error) -> String {
    tracing::warn!(server, command, folder = ?folder, %error, "cannot be started");
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return "its folder (`cwd`) does not exist".to_owned();
    }
    let command = Path::new(command).file_name().unwrap_or_default().display();
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("the command `{command}` was not found"),
        std::io::ErrorKind::PermissionDenied => format!("the command `{command}` may not be executed"),
        _ => format!("the command `{command}` cannot be started: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_are_told_names_no_paths() {
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        let told = |command, folder| cannot_start("fake", command, folder, &error);
        assert_eq!(told("/home/me/bin/tool", None), "the command `tool` was not found");
        assert_eq!(told("tool", Some(Path::new("/no/such/folder"))), "its folder (`cwd`) does not exist");
    }
}
