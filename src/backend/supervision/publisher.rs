//! Publishes the view of a server: its status, its last error and its lists.

use std::convert::Infallible;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::time::Instant;

use crate::backend::connection::{Cache, Environment, StartPlace};
use crate::backend::transport::LastStderrLine;
use crate::config::{ServerConfig, TransportConfig};
use crate::model::{BackendKind, BackendView, Lists, ServerInfo, Status};

/// The view of a server that is not connected, from the cache.
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

/// What a listing has shown: the server's description, its lists, and reports on items that were left out.
struct ListedState {
    info: Arc<ServerInfo>,
    lists: Arc<Lists>,
    reports: Vec<String>,
}

pub(super) struct Publisher {
    name: Arc<str>,
    config: ServerConfig,
    environment: Environment,
    view: Arc<ArcSwap<BackendView>>,
    last_stderr_line: LastStderrLine,
    /// When the last attempt to connect started.
    pub(super) last_attempt: Option<Instant>,
    /// The place of a process that is starting, until it is ready or has failed.
    pub(super) start_place: Option<StartPlace>,
    /// When the server last worked. The grace period is counted from here.
    down_since: Instant,
    /// What the cache contains.
    saved: Option<(Arc<ServerInfo>, Arc<Lists>)>,
}

impl Publisher {
    pub(super) fn new(
        name: &Arc<str>,
        config: &ServerConfig,
        environment: &Environment,
        view: &Arc<ArcSwap<BackendView>>,
        last_stderr_line: &LastStderrLine,
    ) -> Self {
        let idle = view.load();
        let saved = (idle.status == Status::Cached).then(|| (Arc::clone(&idle.info), Arc::clone(&idle.lists)));
        Publisher {
            name: Arc::clone(name),
            config: config.clone(),
            environment: environment.clone(),
            view: Arc::clone(view),
            last_stderr_line: Arc::clone(last_stderr_line),
            last_attempt: None,
            start_place: None,
            down_since: Instant::now(),
            saved,
        }
    }

    /// Publishes the lists of a connected server and saves them to the cache.
    pub(super) async fn publish_ready(&mut self, info: &Arc<ServerInfo>, lists: Lists, reports: Vec<String>) {
        let (lists, info) = (Arc::new(lists), Arc::clone(info));
        self.start_place = None;
        self.save(&info, &lists).await;
        self.publish(Status::Ready, String::new(), Some(ListedState { info, lists, reports }));
    }

    async fn save(&mut self, info: &Arc<ServerInfo>, lists: &Arc<Lists>) {
        if self.saved.as_ref().is_some_and(|(old_info, old_lists)| old_info == info && old_lists == lists) {
            return;
        }
        self.saved = Some((Arc::clone(info), Arc::clone(lists)));
        let (cache, name, config) = (self.environment.cache.clone(), Arc::clone(&self.name), self.config.clone());
        let (info, lists) = (Arc::clone(info), Arc::clone(lists));
        let saving = tokio::task::spawn_blocking(move || {
            if let Err(error) = cache.save(&name, &config, &info, &lists) {
                tracing::debug!(server = %name, %error, "cannot save the lists to the cache");
            }
        });
        // Awaited, so that lists are in the cache by the time they are published.
        let _ = saving.await;
    }

    /// Starts the grace period. Called when a server that worked has been lost.
    pub(super) fn start_grace(&mut self) {
        self.down_since = Instant::now();
    }

    /// Publishes that the server is down. Within the grace period its lists stay published.
    pub(super) fn publish_down(&mut self, reason: &str) {
        self.start_place = None;
        let has_lists = self.view.load().lists.as_ref() != &Lists::default();
        let in_grace = Instant::now() < self.down_since + self.config.grace;
        let status = if has_lists && in_grace { Status::Cached } else { Status::Failed };
        let stderr = self.last_stderr_line.lock().clone();
        let error =
            if stderr.is_empty() { reason.to_owned() } else { format!("{reason}; last line of stderr: {stderr}") };
        self.publish(status, error, None);
    }

    /// Withdraws the lists when the grace period ends, while an attempt to reconnect may still be running. Never completes,
    /// so that it can run beside the attempt in a `select!` without ending it.
    pub(super) fn withdraw_lists_after_grace(&self) -> impl Future<Output = Infallible> + Send + use<> {
        let end = self.down_since + self.config.grace;
        let (view, changes) = (Arc::clone(&self.view), Arc::clone(&self.environment.changes));
        async move {
            tokio::time::sleep_until(end).await;
            let current = view.load_full();
            if current.status == Status::Cached {
                view.store(Arc::new(BackendView { status: Status::Failed, ..BackendView::clone(&current) }));
                changes.notify_one();
            }
            std::future::pending().await
        }
    }

    fn publish(&self, status: Status, error: String, listed: Option<ListedState>) {
        let old = self.view.load();
        let mut view = BackendView::clone(&old);
        (view.status, view.error) = (status, error);
        if status == Status::Ready && view.start_time.is_none() {
            view.start_time = self.last_attempt.map(|attempt| attempt.elapsed());
        }
        if let Some(ListedState { info, lists, reports }) = listed {
            (view.info, view.lists, view.reports) = (info, lists, Arc::new(reports));
        }
        // A server may announce changes of lists that have not changed.
        if view == **old {
            return;
        }
        self.view.store(Arc::new(view));
        self.environment.changes.notify_one();
    }
}
