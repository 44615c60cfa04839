//! Publishes the view of a server: its status, its last error and its lists.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::time::Instant;

use super::lists::variants::misses_capability;
use super::supervised::SupervisedServer;
use crate::connection::{Cache, CachedServer, Connection, Connector, Environment, StartPolicy, StartSlot};
use crate::transport::{LastWords, LogIn};
use proxy_config::{ProtocolChoice, ServerConfig, TransportConfig};
use proxy_model::lock::Lock;
use proxy_model::{
    Abilities, BackendKind, BackendView, ClientProfile, Era, LastKnown, Lists, LoginNeeded, NEEDS_PERSON, ServerInfo,
    Status, ViewVariant,
};

/// The view of a server that is not connected, from the cache or else from the lock: as clients of this profile saw it
/// last, or else as any client did. Without a profile, the view has variants for stateless clients and for clients with
/// more abilities, where their lists differed. The lock decides what is published of it.
pub fn idle_view(
    name: &str,
    server: &ServerConfig,
    cache: &Cache,
    lock: Option<&Lock>,
    profile: Option<ClientProfile>,
) -> BackendView {
    if server.is_per_person() {
        return per_person_view(name, server, false);
    }
    let known = cache.known(name, server, lock);
    let mut view = cached_view(name, server, &known, profile);
    let login = known.last.failure.filter(|failure| failure.login);
    if let Some(failure) = login.filter(|_| view.status == Status::Starting) {
        (view.status, view.error) = (Status::Login, failure.error);
    }
    match lock {
        Some(lock) => lock.published(&view, profile.unwrap_or_default()),
        None => view,
    }
}

/// The view without a person of a server with a separate connection for each person: no items. The sole client on stdio has
/// no token, so for it the server has failed.
pub(crate) fn per_person_view(name: &str, server: &ServerConfig, is_for_one: bool) -> BackendView {
    let view = cached_view(name, server, &CachedServer::default(), None);
    match is_for_one && server.personal().is_none() {
        true => BackendView { status: Status::Failed, error: NEEDS_PERSON.to_owned(), ..view },
        false => BackendView { status: Status::PerPerson, ..view },
    }
}

/// The view of a server of which this is known, before it is started.
pub(super) fn first_view(
    name: &str,
    server: &ServerConfig,
    environment: &Environment,
    known: &CachedServer,
) -> BackendView {
    let is_doubtful = known.is_doubtful(&server.entry_digest());
    BackendView { is_doubtful, ..cached_view(name, server, known, environment.main_profile()) }
}

fn cached_view(
    name: &str,
    server: &ServerConfig,
    cached: &CachedServer,
    profile: Option<ClientProfile>,
) -> BackendView {
    let kind = match server.transport {
        TransportConfig::Stdio { .. } => BackendKind::Stdio,
        TransportConfig::Http { .. } => BackendKind::Http,
        TransportConfig::OpenApi(_) => BackendKind::OpenApi,
    };
    let main = match profile {
        Some(profile) => cached.entry(profile).cloned(),
        None => cached.entries.first().cloned(),
    };
    let status = if main.is_some() { Status::Cached } else { Status::Starting };
    let stateless = cached.exact(ClientProfile::STATELESS).filter(|_| profile == Some(ClientProfile::SESSION));
    let sets = cached.entries.iter().filter(|entry| {
        let is_shared = match entry.profile.era {
            Era::Session => !entry.profile.abilities.roots,
            Era::Stateless => entry.profile.abilities != Abilities::NONE,
        };
        cached.varies && is_shared && profile == Some(ClientProfile::SESSION)
    });
    let sets = sets.filter(|entry| main.as_ref().is_some_and(|main| main.profile != entry.profile)).cloned();
    let variants = stateless.filter(|stateless| main.as_ref().is_some_and(|main| main.profile != stateless.profile));
    let variants = variants.cloned().into_iter().chain(sets).collect();
    let (info, lists) = main.map(|main| (main.info, main.lists)).unwrap_or_default();
    BackendView {
        name: name.into(),
        kind,
        status,
        error: String::new(),
        info,
        lists,
        start_time: None,
        reports: Arc::default(),
        variants: Arc::new(variants),
        last_known: (cached.last != LastKnown::default()).then(|| Arc::new(cached.last.clone())),
        is_doubtful: false,
        lock: None,
    }
}

impl SupervisedServer {
    /// Shows what clients of this profile saw last, until the server is connected for the first time. Later its lists are
    /// newer than the cache, which other processes write too.
    pub(crate) fn show_cached(&self, profile: ClientProfile) {
        let cached = self.first_cached.lock().take();
        let is_unstarted =
            |view: &BackendView| matches!(view.status, Status::Cached | Status::Resting) && view.start_time.is_none();
        if !is_unstarted(&self.view.load()) {
            return;
        }
        let (config, environment) = (&self.connector.server, self.connector.environment());
        let cached = cached.unwrap_or_else(|| environment.cache.load(&self.name, config).unwrap_or_default());
        let (known, _) = cached.or_approved(&self.name, config, environment.lock.get().as_deref());
        let idle = cached_view(&self.name, config, &known, Some(profile));
        let shown = |view: &Arc<BackendView>| match is_unstarted(view) {
            true => {
                let (info, lists) = (Arc::clone(&idle.info), Arc::clone(&idle.lists));
                Arc::new(BackendView { info, lists, ..BackendView::clone(view) })
            }
            false => Arc::clone(view),
        };
        self.view.rcu(shown);
        environment.changes.notify_one();
    }
}

/// Whether a server is busy cannot be determined within a shorter grace period.
const MIN_WATCHED_GRACE: Duration = Duration::from_secs(1);

/// It takes some seconds after `startTimeout` to determine whether a process is busy.
const SLOW_START_MARGIN: Duration = Duration::from_secs(6);

/// The error of a server that missed the first list.
const STILL_STARTING: &str = "it was still starting when the first list was answered without it (`serve.firstList`)";

/// The error of a server that is being restarted.
pub(super) const RESTARTING: &str = "it is being restarted";

/// What a listing has shown: the server's description, its lists, and reports on items that were left out.
struct ListedState {
    info: Arc<ServerInfo>,
    lists: Arc<Lists>,
    reports: Vec<String>,
}

/// Whether a server is known to declare capabilities only in sessions. Both eras have the methods that belong to them.
fn sessions_offer_more(known: &CachedServer) -> bool {
    let of_era = |era| known.entries.iter().find(|entry: &&ViewVariant| entry.profile.era == era);
    match (of_era(Era::Session), of_era(Era::Stateless)) {
        (Some(session), Some(stateless)) => misses_capability(&session.info, &stateless.info),
        _ => false,
    }
}

/// `3 tools, 1 prompt`: what a server offers.
fn offered(lists: &Lists) -> String {
    let resources = lists.resources.len() + lists.resource_templates.len();
    let kinds = [(lists.tools.len(), "tool"), (resources, "resource"), (lists.prompts.len(), "prompt")];
    let counted = kinds.iter().filter(|(number, noun)| *number > 0 || *noun == "tool");
    let parts: Vec<String> =
        counted.map(|(number, noun)| format!("{number} {noun}{}", if *number == 1 { "" } else { "s" })).collect();
    parts.join(", ")
}

pub(super) struct Publisher {
    name: Arc<str>,
    config: ServerConfig,
    environment: Environment,
    view: Arc<ArcSwap<BackendView>>,
    last_words: LastWords,
    /// When the last attempt to connect started.
    pub(super) last_attempt: Option<Instant>,
    /// The slot of a process that is starting, until it is ready or has failed.
    pub(super) start_slot: Option<StartSlot>,
    /// When the server last worked. The grace period is counted from here.
    down_since: Instant,
    /// The era in which the server was asked first.
    pub(super) asked: Option<Era>,
    /// What this process has written to the cache last.
    saved: Option<ViewVariant>,
    /// Whether this process has written a failure since then.
    failure_saved: bool,
    /// Whether the lists stay while the server cannot be reached: it rests as a rule.
    pub(super) keeps_lists: bool,
}

impl Publisher {
    pub(super) fn new(
        name: &Arc<str>,
        config: &ServerConfig,
        environment: &Environment,
        view: &Arc<ArcSwap<BackendView>>,
        last_words: &LastWords,
    ) -> Self {
        Publisher {
            name: Arc::clone(name),
            config: config.clone(),
            environment: environment.clone(),
            view: Arc::clone(view),
            last_words: last_words.clone(),
            last_attempt: None,
            start_slot: None,
            down_since: Instant::now(),
            asked: None,
            saved: None,
            failure_saved: false,
            keeps_lists: false,
        }
    }

    /// What earlier connections have shown, of this process or another.
    pub(super) async fn known(&self) -> CachedServer {
        let (cache, name, config) = (self.environment.cache.clone(), Arc::clone(&self.name), self.config.clone());
        let loaded = tokio::task::spawn_blocking(move || cache.load(&name, &config)).await;
        loaded.ok().flatten().unwrap_or_default()
    }

    /// The era in which the server is asked first: that of the only client, unless the server is known to speak only the
    /// other. For many clients it is a session, beside which stateless clients have a leg of their own.
    pub(super) fn main_era(known: &CachedServer, client: Option<Era>) -> Era {
        let wanted = client.unwrap_or(Era::Session);
        let wanted = if wanted == Era::Stateless && sessions_offer_more(known) { Era::Session } else { wanted };
        match wanted {
            Era::Session if known.absent.contains(&Era::Session) => Era::Stateless,
            Era::Stateless if known.absent.contains(&Era::Stateless) => Era::Session,
            wanted => wanted,
        }
    }

    /// Publishes the lists of a connected server and saves them to the cache.
    pub(super) async fn publish_ready(&mut self, connection: &Connection, lists: Lists, reports: Vec<String>) {
        let (lists, info) = (Arc::new(lists), Arc::clone(connection.info()));
        self.start_slot = None;
        if self.view.load().status != Status::Ready {
            let seconds = self.last_attempt.map_or(0.0, |started| started.elapsed().as_secs_f32());
            let offered = offered(&lists);
            tracing::info!(target: "server_state", server = %self.name, "up in {seconds:.1} s: {offered}");
        }
        let (profile, info_seen, lists_seen) = (connection.profile(), Arc::clone(&info), Arc::clone(&lists));
        self.save(ViewVariant { profile, info: info_seen, lists: lists_seen, lock: None }).await;
        let problem = connection.problem().unwrap_or_default();
        self.publish(Status::Ready, problem, Some(ListedState { info, lists, reports }));
    }

    async fn save(&mut self, seen: ViewVariant) {
        if !std::mem::take(&mut self.failure_saved) && self.saved.as_ref() == Some(&seen) {
            return;
        }
        self.saved = Some(seen.clone());
        let asked = self.asked.filter(|_| self.config.protocol == ProtocolChoice::Auto);
        // Awaited, so that lists are in the cache by the time they are published.
        let save = move |cache: &Cache, name: &str, config: &ServerConfig| {
            cache.change(name, config, |known| known.record_main(seen, asked))
        };
        self.environment.cache.write(&self.name, &self.config, save).await;
    }

    /// Remembers why the server did not start, for commands that do not start it.
    pub(super) async fn save_failure(&mut self, reason: &str) {
        let (error, entry) = (self.last_words.after(reason), self.config.entry_digest());
        self.write_failure(move |known| known.record_failure(&error, entry)).await;
    }

    /// Remembers that the server was still starting when the first lists were answered without it: clients may leave before
    /// the attempt ends. Never completes, so that it can run beside the attempt in a `select!` without ending it.
    pub(super) fn note_unfinished_start(&self) -> impl Future<Output = Infallible> + Send + use<> {
        let (name, config, environment) = (Arc::clone(&self.name), self.config.clone(), self.environment.clone());
        let (view, is_first) = (Arc::clone(&self.view), !self.environment.lists_answered.is_cancelled());
        async move {
            environment.lists_answered.cancelled().await;
            if is_first && view.load().status == Status::Starting {
                let entry = config.entry_digest();
                let save = move |cache: &Cache, name: &str, config: &ServerConfig| {
                    cache.change(name, config, |known| known.record_failure(STILL_STARTING, entry))
                };
                environment.cache.write(&name, &config, save).await;
            }
            std::future::pending().await
        }
    }

    /// Publishes a note if the first attempt takes longer than `startTimeout`: the process is busy and may still start.
    /// Never completes, so that it can run beside the attempt in a `select!` without ending it.
    pub(super) fn note_slow_start(&self) -> impl Future<Output = Infallible> + Send + use<> {
        let (limit, view) = (self.config.start_timeout, Arc::clone(&self.view));
        let changes = Arc::clone(&self.environment.changes);
        async move {
            tokio::time::sleep(limit + SLOW_START_MARGIN).await;
            let error = format!("it is still starting after {} s (`startTimeout`)", limit.as_secs_f32());
            let noted = |view: &Arc<BackendView>| match view.status == Status::Starting && view.error.is_empty() {
                true => Arc::new(BackendView { error: error.clone(), ..BackendView::clone(view) }),
                false => Arc::clone(view),
            };
            view.rcu(noted);
            changes.notify_one();
            std::future::pending().await
        }
    }

    /// Remembers that the server waits for a log-in.
    pub(super) async fn save_login(&mut self, needed: &LoginNeeded) {
        let (needed, entry) = (needed.clone(), self.config.entry_digest());
        self.write_failure(move |known| known.record_login(&needed, entry)).await;
    }

    async fn write_failure(&mut self, record: impl FnOnce(&mut CachedServer) + Send + 'static) {
        self.failure_saved = true;
        let save =
            move |cache: &Cache, name: &str, config: &ServerConfig| cache.change(name, config, |known| record(known));
        self.environment.cache.write(&self.name, &self.config, save).await;
    }

    /// The log-in that the server waited for when it was last tried, if nothing has changed since then. Servers that are
    /// started only if nothing is known of them are not tried again for that.
    pub(super) async fn known_login(&self, log_in: &LogIn) -> Option<LoginNeeded> {
        if self.environment.start != StartPolicy::Unknown || !log_in.has_credentials() {
            return None;
        }
        let known = self.known().await;
        let failure = known.last.failure.filter(|failure| failure.login)?;
        let is_current = known.environment == self.config.environment_digest();
        (is_current && log_in.is_missing().await).then_some(LoginNeeded(failure.error))
    }

    /// The first attempt to start the server begins, in this slot.
    pub(super) fn begin_start(&mut self, slot: Option<StartSlot>) {
        self.start_slot = slot;
        self.start_grace();
    }

    /// Starts the grace period. Called when a server that worked has been lost.
    pub(super) fn start_grace(&mut self) {
        self.down_since = Instant::now();
    }

    /// Publishes that the server is down. Within the grace period its lists stay published.
    pub(super) fn publish_down(&mut self, reason: &str) {
        self.start_slot = None;
        let has_lists = self.view.load().lists.as_ref() != &Lists::default();
        let in_grace = Instant::now() < self.down_since + self.config.grace;
        let status = if has_lists && (in_grace || self.keeps_lists) { Status::Cached } else { Status::Failed };
        self.publish(status, self.last_words.after(reason), None);
    }

    /// Publishes that the server is not running until it is needed, and why it was not running when it was, if that is so.
    pub(super) fn publish_resting(&mut self, reason: Option<&str>) {
        self.start_slot = None;
        let error = reason.map(|reason| self.last_words.after(reason)).unwrap_or_default();
        self.publish(Status::Resting, error, None);
    }

    /// Publishes that the server is being restarted. Its lists stay published for the grace period.
    pub(super) fn publish_restarting(&mut self) {
        self.start_slot = None;
        let status = match self.view.load().status {
            Status::Ready | Status::Cached => Status::Cached,
            other => other,
        };
        if status == Status::Cached {
            self.start_grace();
            self.publish(status, RESTARTING.to_owned(), None);
        }
    }

    /// Publishes that the server waits for a log-in. Its last known lists stay, so that their names do; they are withheld.
    pub(super) fn publish_login(&mut self, needed: &LoginNeeded) {
        self.start_slot = None;
        self.publish(Status::Login, needed.to_string(), None);
    }

    /// Withdraws the lists when the grace period ends, while an attempt to reconnect may still be running. A server that was
    /// never up and is at work keeps them. Never completes, so that it can run beside the attempt in a `select!` without
    /// ending it.
    pub(super) fn withdraw_lists_after_grace(
        &self,
        connector: &Arc<Connector>,
    ) -> impl Future<Output = Infallible> + Send + use<> {
        let (grace, end) = (self.config.grace, self.down_since + self.config.grace);
        let (view, changes) = (Arc::clone(&self.view), Arc::clone(&self.environment.changes));
        let is_starting = self.view.load().start_time.is_none() && grace >= MIN_WATCHED_GRACE;
        let starting = is_starting.then(|| Arc::clone(connector));
        let keeps_lists = self.keeps_lists;
        async move {
            if keeps_lists {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep_until(end).await;
            if let Some(connector) = starting {
                while connector.is_at_work(grace).await {}
            }
            let withdrawn = |view: &Arc<BackendView>| match view.status {
                Status::Cached => Arc::new(BackendView { status: Status::Failed, ..BackendView::clone(view) }),
                _ => Arc::clone(view),
            };
            if view.rcu(withdrawn).status == Status::Cached {
                changes.notify_one();
            }
            std::future::pending().await
        }
    }

    fn publish(&self, status: Status, error: String, listed: Option<ListedState>) {
        let start_time = self.last_attempt.map(|attempt| attempt.elapsed());
        let listed = listed.map(|ListedState { info, lists, reports }| (info, lists, Arc::new(reports)));
        let old = self.view.rcu(|old| {
            let mut view = BackendView::clone(old);
            (view.status, view.error) = (status, error.clone());
            if !matches!(status, Status::Cached | Status::Resting) || !view.error.is_empty() {
                view.last_known = None;
            }
            if status == Status::Ready && view.start_time.is_none() {
                view.start_time = start_time;
            }
            if let Some(listed) = listed.clone() {
                (view.info, view.lists, view.reports) = listed;
            }
            if view == **old { Arc::clone(old) } else { Arc::new(view) }
        });
        // A server may announce changes of lists that have not changed.
        if old != *self.view.load() {
            self.environment.changes.notify_one();
        }
    }
}
