//! Applies a prepared config: at the start, and again after every change.

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::local_tools::LocalTools;
use super::prepare::Prepared;
use super::routes::Routes;
use super::servers::{RunningServers, ServerChanges};
use crate::gateway::backend_set::BackendSet;
use crate::gateway::options::GatewayOptions;
use crate::gateway::rebuild::{Edition, ProfileScripts};
use crate::surface::ScriptSource;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::{AuthConfig, Authentication, Config, ServerConfig, StoreAddress};
use proxy_host_io::HostIo;
use proxy_identity::cedar::CurrentPolicies;
use proxy_identity::oauth::SubjectTokens;
use proxy_mcp_client::{Environment, Handle, PerPersonServer, Rest, RunningProcess, ServerLoad, idle_view};
use proxy_model::Snapshot;
use proxy_model::lock::Lock;

/// Everything that a config determines and a reload may replace.
pub(crate) struct Installation {
    pub(crate) options: GatewayOptions,
    pub(crate) environment: Environment,
    /// The I/O of local tools.
    host_io: Arc<HostIo>,
    pub(crate) backend_set: Arc<BackendSet>,
    pub(crate) editions: watch::Sender<Edition>,
    pub(crate) routes: ArcSwap<Routes>,
    /// Who may use the proxy; the authentication of HTTP clients subscribes to it.
    pub(crate) authentication: watch::Sender<Authentication>,
    /// The tokens of callers that servers need.
    subject_tokens: Arc<SubjectTokens>,
    applied: Mutex<Applied>,
}

#[derive(Default)]
struct Applied {
    servers: RunningServers,
    local: Arc<LocalTools>,
    /// `None` before the first config.
    store: Option<StoreAddress>,
    /// The digest of the config file.
    digest: Option<String>,
    /// The issuers whose tokens are exchanged.
    subject_issuers: Vec<String>,
}

fn subject_issuers(config: &Config) -> Vec<String> {
    let enabled = config.servers.values().filter(|server| !server.disabled);
    let named = enabled.filter_map(|server| match &server.auth {
        Some(AuthConfig::TokenExchange(exchange)) => exchange.subject_issuer.clone(),
        _ => None,
    });
    named.collect()
}

impl Installation {
    pub(crate) fn new(
        options: GatewayOptions,
        environment: Environment,
        backend_set: BackendSet,
        host_io: Arc<HostIo>,
        subject_tokens: Arc<SubjectTokens>,
    ) -> Self {
        Installation {
            options,
            environment,
            host_io,
            backend_set: Arc::new(backend_set),
            editions: watch::channel(Edition::default()).0,
            routes: ArcSwap::default(),
            authentication: watch::channel(Authentication::default()).0,
            subject_tokens,
            applied: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Applied> {
        self.applied.lock()
    }

    pub(crate) fn local(&self) -> Arc<LocalTools> {
        Arc::clone(&self.lock().local)
    }

    /// The calls of a server that run and wait now.
    pub(crate) fn load(&self, server: &str) -> Option<ServerLoad> {
        self.lock().servers.load(server)
    }

    pub(crate) fn restarts(&self, server: &str) -> Option<u64> {
        self.lock().servers.restarts(server)
    }

    /// The digest of the config file in use; `None` if the command line adds to it.
    pub(crate) fn config_digest(&self) -> Option<String> {
        self.lock().digest.clone()
    }

    /// Starts a server that rests.
    pub(crate) fn wake(&self, server: &str) {
        self.lock().servers.wake(server);
    }

    /// A running server; `None` for an extension.
    pub(crate) fn server(&self, name: &str) -> Option<Handle> {
        self.lock().servers.handle(name)
    }

    /// Whether a running server has a connection for each client.
    pub(crate) fn has_own_connections(&self) -> bool {
        self.lock().servers.have_own_connections()
    }

    /// A running server that everybody has a connection of their own to.
    pub(crate) fn per_person(&self, name: &str) -> Option<Arc<PerPersonServer>> {
        self.lock().servers.per_person(name)
    }

    pub(crate) fn rest(&self, server: &str) -> Option<Rest> {
        self.lock().servers.rest(server)
    }

    pub(crate) fn is_waking(&self, server: &str) -> bool {
        self.lock().servers.is_waking(server)
    }

    /// The running servers at which everybody has an account of their own.
    pub(crate) fn personal_servers(&self) -> Vec<(String, ServerConfig)> {
        self.lock().servers.personal()
    }

    pub(crate) fn processes(&self, server: &str) -> Vec<RunningProcess> {
        self.lock().servers.processes(server)
    }

    /// Reads the local tools from disk again. Blocking.
    pub(crate) fn reload_local(&self, config: &Config) -> LocalTools {
        self.local().reload(config, self.options.bundled, &self.backend_set.calls().pool, &self.host_io)
    }

    /// Checks a new config and reuses what has not changed. Blocking.
    pub(crate) fn prepare(&self, config: &Config) -> Result<Prepared, Vec<Diagnostic>> {
        let (local, calls) = (self.local(), self.backend_set.calls());
        Prepared::of(config, &self.options, &self.environment.pool, &calls.pool, &self.host_io, &local)
    }

    /// The catalog as it would be right after this config was applied.
    pub(crate) fn preview(&self, config: &Config, prepared: &Prepared, now: &Snapshot) -> Snapshot {
        let applied = self.lock();
        let servers = config.servers.iter().filter(|(_, server)| !server.disabled).map(|(name, server)| {
            let running = now.backend(name).filter(|_| applied.servers.runs(name, server));
            running.cloned().unwrap_or_else(|| {
                let profile = self.environment.main_profile();
                Arc::new(idle_view(name, server, &self.environment.cache, prepared.lock.as_deref(), profile))
            })
        });
        let local = prepared.local.backends().map(|extension| extension.view());
        Snapshot { backends: servers.chain(local).collect(), ..now.clone() }
    }

    /// Applies a config. Returns the changes of servers and the number of the script edition; surfaces are rebuilt
    /// later, and carry that number.
    pub(crate) fn apply(&self, config: &Config, prepared: Prepared) -> (ServerChanges, u64) {
        let mut applied = self.lock();
        let enabled = config.servers.values().filter(|server| !server.disabled).count();
        self.environment.attribution.set_needed(enabled > 1);
        // Before servers start: the lock has the lists of those that were never started here.
        self.set_lock(prepared.lock);
        let changes = applied.servers.apply(config, &self.environment, &self.backend_set);
        let backends_changed = changes.is_any() || !prepared.local.is_same_as(&applied.local);
        applied.local = prepared.local;
        applied.digest.clone_from(&config.digest);
        self.routes.store(prepared.routes);
        let issuers = subject_issuers(config);
        if applied.subject_issuers != issuers || *self.authentication.borrow() != config.auth {
            // Before it is decided anew who is admitted: a token is kept only after that.
            self.subject_tokens.keep_those_of(issuers.clone());
            applied.subject_issuers = issuers;
        }
        self.authentication.send_if_modified(|current| {
            let changed = *current != config.auth;
            if changed {
                current.clone_from(&config.auth);
            }
            changed
        });
        // Before the script: what it publishes must not be shown to anybody under the old policies.
        self.policies().set(prepared.policies);
        self.backend_set.calls().results.set(&config.results, &config.dialects);
        // Stored values survive every reload that leaves the address of the store alone.
        if applied.store.as_ref() != Some(&config.store) {
            applied.store = Some(config.store.clone());
            self.backend_set.set_store(prepared.store);
        }
        // Publish the script first: it waits for its generation of backends, so it never runs with the old ones.
        let generation = self.backend_set.generation() + u64::from(backends_changed);
        let edition = self.publish(prepared.script_source, prepared.profiles, generation);
        if backends_changed {
            self.backend_set.replace(applied.servers.backends().chain(applied.local.backends()).collect());
        }
        (changes, edition)
    }

    /// Replaces the lock. Servers keep running; what is published of them changes.
    pub(crate) fn set_lock(&self, lock: Option<Arc<Lock>>) {
        let environment = &self.environment;
        let before = environment.lock.get();
        if before.as_deref() != lock.as_deref() {
            environment.lock.set(lock);
            environment.changes.notify_one();
            environment.person_changes.notify_one();
        }
    }

    /// The policies in force.
    pub(crate) fn policies(&self) -> CurrentPolicies {
        self.backend_set.calls().dispatcher.policies().clone()
    }

    /// Applies new versions of the scripts and returns the number of their edition.
    pub(crate) fn apply_scripts(&self, script_source: Arc<ScriptSource>, profiles: ProfileScripts) -> u64 {
        let _applied = self.lock();
        self.publish(script_source, profiles, self.backend_set.generation())
    }

    /// Applies a new version of the local tools and returns the generation of backends that contains it.
    pub(crate) fn apply_local(&self, local: Arc<LocalTools>) -> u64 {
        let mut applied = self.lock();
        let changed = !local.is_same_as(&applied.local);
        applied.local = local;
        if changed {
            self.backend_set.replace(applied.servers.backends().chain(applied.local.backends()).collect());
        }
        self.backend_set.generation()
    }

    fn publish(&self, script_source: Arc<ScriptSource>, profiles: ProfileScripts, generation: u64) -> u64 {
        self.editions.send_modify(|edition| {
            let number = edition.number + 1;
            *edition = Edition { number, script_source: Some(script_source), profiles, generation };
        });
        self.editions.borrow().number
    }
}
