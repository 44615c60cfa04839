//! The gateway itself: start and stop of everything that a config asks for.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::backend_set::BackendSet;
use super::catalog;
use super::following::ResourceRefresher;
use super::installation::{Installation, LocalTools, Prepared};
use super::options::{Endpoint, GatewayOptions};
use super::preparation::PreparedProfiles;
use super::reload_status::SharedReloadStatus;
use super::surfaces::People;
use super::views::{ViewSources, Views};
use crate::calls::{Calls, Dispatcher, GuardedQuestions, RulesNow, WaitingMemory};
use crate::results::PagedResults;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::{Authentication, Config, ServerConfig};
use proxy_fiber::Pool;
use proxy_mcp_client::{
    Answer, Attribution, Audience, Backend, BackendCall, Cache, CallError, ConnectionHolders, CredentialsSource,
    CurrentLock, Environment, QuestionGate, ServerSession, SharedHolders, SoleClient, StartSlots,
};

use proxy_base::process::{is_served_by_ancestor, watchdog, with_ancestor};
use proxy_base::seal::Sealer;
use proxy_identity::oauth::{CredentialStorage, LogIns, SubjectTokens};
use proxy_model::{ScopeRules, Secret, Snapshot};
use proxy_wire::http;

/// The error for a request that was still running when the proxy had to stop.
pub const STOPPED: &str = "the proxy is stopping; it may have run";

/// Maximum number of concurrent script handlers; others queue.
const MAX_HANDLERS: usize = 1024;

/// A running proxy without its client side: servers, local tools, session script and surfaces.
pub struct Gateway {
    pub(super) installed: Installation,
    /// The servers with `required: true`, without which the proxy does not start.
    pub(super) required: Vec<String>,
    pub(super) catalog: watch::Receiver<Arc<Snapshot>>,
    pub(super) views: Arc<Views>,
    pub(super) people: Arc<People>,
    pub(super) reload_status: SharedReloadStatus,
    pub(super) prepared: ArcSwap<PreparedProfiles>,
    pub(super) config_path: Option<PathBuf>,
    pub(super) folder: PathBuf,
    pub(super) endpoint: OnceLock<Endpoint>,
    pub(super) started: Instant,
    pub(super) following: Arc<ResourceRefresher>,
    /// How long the first list requests wait for servers without known lists.
    pub(super) first_list: Duration,
    stopping: CancellationToken,
    /// Cancelled when the time for requests to finish during shutdown (`serve.drainTimeout`) is over.
    out_of_time: CancellationToken,
    log_ins: Arc<LogIns>,
}

impl Gateway {
    /// Starts everything and returns without waiting for the servers. Returns all errors of the config at once. An
    /// extension that fails to load is no error here: see [`Gateway::extension_problems`].
    pub fn start(config: &Config, options: &GatewayOptions) -> Result<Self, Vec<Diagnostic>> {
        if let Some(path) = config.path.as_deref().filter(|path| is_served_by_ancestor(&options.variables, path)) {
            return Err(vec![
                Diagnostic::error(format!(
                    "`{}` starts itself: one of its servers is a proxy with this config",
                    path.display()
                ))
                .hint("give that server a config of its own: `args: [serve, --config, OTHER.yaml]`"),
            ]);
        }
        let http = http::HttpPool::default();
        let pool = Pool::new(MAX_HANDLERS);
        let host_io = options.host_io();
        let prepared = Prepared::of(config, options, &http, &pool, &host_io, &LocalTools::default())?;
        let changes = Arc::new(Notify::new());
        let log_ins = LogIns::new(CredentialStorage::for_config(config, options.state_folder.as_deref()));
        let environment = Environment {
            pool: http,
            credentials: credentials(&log_ins),
            cache: Cache::at(options.cache_folder.clone()),
            descriptions: Default::default(),
            executable: options.executable.clone(),
            variables: match &config.path {
                Some(path) => with_ancestor(&options.variables, path),
                None => options.variables.clone(),
            },
            start_slots: StartSlots::of_this_machine(),
            comparing: Arc::default(),
            lists_answered: CancellationToken::new(),
            changes: Arc::clone(&changes),
            person_changes: Arc::default(),
            audience: Audience::new(options.sole_client),
            start: options.start,
            holders: SharedHolders::default(),
            lock: CurrentLock::default(),
            attribution: Attribution::default(),
            question_gate: QuestionGate::default(),
        };
        if let Some(client) = &options.client {
            environment.audience.introduce(client.clone());
        }
        let calls = Calls {
            dispatcher: Dispatcher::new(&[]),
            pool,
            store: prepared.store.clone(),
            results: Arc::new(PagedResults::new(&config.results, &config.dialects, results_sealer(config))),
            waiting: WaitingMemory::default(),
            test_overrides: None,
        };
        let telemetry = Arc::clone(calls.dispatcher.telemetry());
        let backend_set = BackendSet::new(calls, Arc::clone(&changes));
        let subject_tokens = Arc::clone(log_ins.subject_tokens());
        let installed = Installation::new(options.clone(), environment, backend_set, host_io, subject_tokens);
        installed.apply(config, prepared);
        let catalog = catalog::follow(Arc::clone(installed.backend_set.members()), changes);
        let policies = installed.backend_set.calls().dispatcher.policies().clone();
        let person_changes = &installed.environment.person_changes;
        let people = People::new(installed.backend_set.members(), person_changes, config.serve.first_list);
        let people = Arc::new(people);
        let sources = ViewSources {
            editions: installed.editions.subscribe(),
            catalog: catalog.clone(),
            first_list: config.serve.first_list,
            environment: installed.environment.clone(),
            policies,
            people: Arc::clone(&people),
            telemetry: Arc::clone(&telemetry),
            changes: Arc::new(watch::channel(0).0),
        };
        let only_profile = config.selection.as_ref().map(|selection| Arc::clone(&selection.profile));
        let views = Views::new(sources, only_profile);
        // The views hold the environment, which holds the guard.
        let of_views = Arc::downgrade(&views);
        let rules = move |profile: Option<&Arc<str>>| {
            of_views.upgrade().map_or(RulesNow::Unknown, |views| views.rules(profile))
        };
        let questions = GuardedQuestions::new(rules, installed.backend_set.calls().store.clone(), telemetry);
        installed.environment.question_gate.set(questions);
        tokio::spawn(release_removed(Arc::clone(&installed.backend_set), Arc::downgrade(&views)));
        let required = config.servers.iter().filter(|(_, server)| server.required && !server.disabled);
        let required = required.map(|(name, _)| name.clone()).collect();
        Ok(Gateway {
            installed,
            required,
            catalog,
            views,
            people,
            reload_status: SharedReloadStatus::default(),
            prepared: ArcSwap::default(),
            config_path: config.path.clone(),
            folder: config.folder.clone(),
            endpoint: OnceLock::new(),
            started: Instant::now(),
            following: Arc::default(),
            first_list: config.serve.first_list,
            stopping: CancellationToken::new(),
            out_of_time: CancellationToken::new(),
            log_ins,
        })
    }

    /// Describes the only client. Servers are met in its era, and offered exactly its abilities.
    pub fn introduce(&self, client: SoleClient) {
        let profile = client.profile;
        self.installed.environment.audience.introduce(client);
        let members = self.installed.backend_set.members().load_full();
        for server in members.backends.iter().filter_map(|backend| backend.connected()) {
            server.introduce(profile);
        }
    }

    /// Whether servers know the only client.
    pub fn is_introduced(&self) -> bool {
        self.installed.environment.audience.is_introduced()
    }

    /// Uses these servers instead of those that the config starts.
    pub fn use_servers(&self, servers: Vec<Arc<dyn Backend>>) {
        let local = self.installed.local();
        self.installed.backend_set.replace(servers.into_iter().chain(local.backends()).collect());
    }

    /// Calls a server; `None` if there is none of this name.
    pub async fn call_server(&self, name: &str, call: BackendCall) -> Option<Result<Answer, CallError>> {
        let members = self.installed.backend_set.members().load_full();
        let server = members.backends.iter().find(|backend| *backend.view().name == *name)?;
        Some(server.call(call).await)
    }

    /// Other processes serve the same clients: from now on, one process at a time holds a connection that belongs to one
    /// client.
    pub fn share_connections(&self, holders: Arc<dyn ConnectionHolders>) {
        self.installed.environment.holders.set(holders);
    }

    /// Whether a server has a connection for each client (`scope: session`).
    pub fn has_own_connections(&self) -> bool {
        self.installed.has_own_connections()
    }

    /// Ends a session at a server that no process goes on with.
    pub async fn end_server_session(&self, session: &ServerSession) {
        if let Some(server) = self.installed.server(&session.server) {
            server.end_session(session).await;
        }
    }

    /// How questions of servers are shown.
    pub fn attribution(&self) -> &Attribution {
        &self.installed.environment.attribution
    }

    /// Dispatches to the present backends, also after a reload has replaced them.
    pub fn calls(&self) -> Arc<Calls> {
        self.installed.backend_set.calls()
    }

    /// The server that the config (`methods`) assigns a vendor method to.
    pub fn owner_of_method(&self, method: &str) -> Option<Arc<str>> {
        self.installed.routes.load().owner(method).cloned()
    }

    /// Who may use the proxy over HTTP, with every later change.
    pub fn authentication(&self) -> watch::Receiver<Authentication> {
        self.installed.authentication.subscribe()
    }

    /// The log-ins at servers.
    pub fn log_ins(&self) -> &Arc<LogIns> {
        &self.log_ins
    }

    /// The running servers at which everybody has an account of their own.
    pub fn personal_servers(&self) -> Vec<(String, ServerConfig)> {
        self.installed.personal_servers()
    }

    /// The caller tokens that are exchanged for server tokens.
    pub fn subject_tokens(&self) -> &Arc<SubjectTokens> {
        self.log_ins.subject_tokens()
    }

    /// The scopes that items currently require.
    pub fn scope_rules(&self) -> Arc<ScopeRules> {
        Arc::clone(&self.installed.authentication.borrow().scopes)
    }

    /// Waits until the proxy begins to shut down.
    pub async fn stopping(&self) {
        self.stopping.cancelled().await;
    }

    /// Whether the proxy has begun to shut down.
    pub fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// Waits until the time for running requests to finish is over, because the proxy stops.
    pub async fn out_of_time(&self) {
        self.out_of_time.cancelled().await;
    }

    pub fn is_out_of_time(&self) -> bool {
        self.out_of_time.is_cancelled()
    }

    /// Ends the time for running requests to finish. Unfinished requests are answered with an error.
    pub fn end_time(&self) {
        self.out_of_time.cancel();
    }

    /// Announces the shutdown, so that open event streams can be closed in order.
    pub fn begin_stop(&self) {
        self.stopping.cancel();
    }

    /// Stops every server concurrently.
    pub async fn stop(&self) {
        self.begin_stop();
        self.installed.backend_set.stop().await;
        // The answer to a renewal must be saved: the old log-in may be spent.
        self.log_ins.drain().await;
        if let Some(tracer) = self.calls().dispatcher.telemetry().tracer() {
            tracer.close().await;
        }
        if let Some(audit) = self.calls().dispatcher.telemetry().audit() {
            audit.close().await;
        }
        watchdog::end();
    }
}

/// Encrypts kept results for other processes. `None` if no other process has the keys.
fn results_sealer(config: &Config) -> Option<Sealer> {
    if config.serve.state_keys.is_empty() {
        return None;
    }
    Sealer::with_keys(config.serve.state_keys.iter().map(Secret::reveal)).ok()
}

/// Gives each server its log-in.
fn credentials(log_ins: &Arc<LogIns>) -> CredentialsSource {
    let log_ins = Arc::clone(log_ins);
    let of_people = Arc::clone(&log_ins);
    CredentialsSource::new(move |name, server| log_ins.credentials(name, server))
        .with_people(move |name, server| of_people.of_people(name, server))
}

/// Releases removed backends as soon as all surfaces have been rebuilt without them.
async fn release_removed(backend_set: Arc<BackendSet>, views: Weak<Views>) {
    let Some(mut changes) = views.upgrade().map(|views| views.changes()) else { return };
    while changes.changed().await.is_ok() {
        let Some(views) = views.upgrade() else { return };
        if views.are_built_from(backend_set.generation()) {
            backend_set.release_removed();
        }
    }
}
