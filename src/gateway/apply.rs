//! A config put in place: at the start, and again whenever it changes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::watch;

use super::backend_set::BackendSet;
use super::local::LocalTools;
use super::prepare::Prepared;
use super::rebuild::Edition;
use super::routes::Routes;
use super::servers::{Difference, Servers};
use super::start::Options;
use crate::backend::{Environment, idle_view};
use crate::config::{Config, StoreAddress, Token};
use crate::diagnostic::Diagnostic;
use crate::host_io::Reach;
use crate::model::Snapshot;
use crate::surface::ScriptSource;

/// All that a config decides and another one may decide otherwise.
pub(super) struct Installation {
    pub(super) options: Options,
    pub(super) environment: Environment,
    /// What local tools do to the world, they do through this.
    reach: Arc<Reach>,
    pub(super) backend_set: Arc<BackendSet>,
    pub(super) editions: watch::Sender<Edition>,
    pub(super) routes: ArcSwap<Routes>,
    /// Whoever lets clients in follows these.
    pub(super) tokens: watch::Sender<Vec<Token>>,
    applied: Mutex<Applied>,
}

#[derive(Default)]
struct Applied {
    servers: Servers,
    local: Arc<LocalTools>,
    /// None before the first config.
    store: Option<StoreAddress>,
}

impl Installation {
    pub(super) fn new(options: Options, environment: Environment, backend_set: BackendSet, reach: Arc<Reach>) -> Self {
        Installation {
            options,
            environment,
            reach,
            backend_set: Arc::new(backend_set),
            editions: watch::channel(Edition::default()).0,
            routes: ArcSwap::default(),
            tokens: watch::channel(Vec::new()).0,
            applied: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Applied> {
        self.applied.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn local(&self) -> Arc<LocalTools> {
        Arc::clone(&self.lock().local)
    }

    pub(super) fn restarts(&self, server: &str) -> Option<u64> {
        self.lock().servers.restarts(server)
    }

    /// Looks at the local tools on disk again. Blocking.
    pub(super) fn look_at_local(&self, config: &Config) -> LocalTools {
        self.local().look(config, self.options.bundled, &self.backend_set.calls().pool, &self.reach)
    }

    /// Looks a config through, with what is in place already. Blocking.
    pub(super) fn prepare(&self, config: &Config) -> Result<Prepared, Vec<Diagnostic>> {
        let (local, calls) = (self.local(), self.backend_set.calls());
        Prepared::of(config, &self.options, &self.environment.pool, &calls.pool, &self.reach, &local)
    }

    /// What the backends of a config would show right after it was put in place.
    pub(super) fn foresee(&self, config: &Config, prepared: &Prepared, now: &Snapshot) -> Snapshot {
        let applied = self.lock();
        let servers = config.servers.iter().filter(|(_, server)| !server.disabled).map(|(name, server)| {
            let running = now.backend(name).filter(|_| applied.servers.runs(name, server));
            running.cloned().unwrap_or_else(|| Arc::new(idle_view(name, server, &self.environment.cache)))
        });
        let local = prepared.local.backends().map(|extension| extension.view());
        Snapshot { backends: servers.chain(local).collect(), ..now.clone() }
    }

    /// Puts a config in place. Surfaces follow when they have been made: of the edition that is returned.
    pub(super) fn apply(&self, config: &Config, prepared: Prepared) -> (Difference, u64) {
        let mut applied = self.lock();
        let difference = applied.servers.apply(config, &self.environment, &self.backend_set);
        let others = difference.is_any() || !prepared.local.is_same_as(&applied.local);
        applied.local = prepared.local;
        self.routes.store(prepared.routes);
        self.tokens.send_if_modified(|tokens| {
            let others = *tokens != config.tokens;
            if others {
                tokens.clone_from(&config.tokens);
            }
            others
        });
        // What is remembered survives every change but that of its place.
        if applied.store.as_ref() != Some(&config.store) {
            applied.store = Some(config.store.clone());
            self.backend_set.keep_in(prepared.store);
        }
        // The script first: it waits for the backends it is meant for, and so never runs with others.
        let edition = self.publish(prepared.script_source, self.backend_set.generation() + u64::from(others));
        if others {
            self.backend_set.replace(applied.servers.backends().chain(applied.local.backends()).collect());
        }
        (difference, edition)
    }

    /// Puts another script in place.
    pub(super) fn apply_script(&self, script_source: ScriptSource) -> u64 {
        let _alone = self.lock();
        self.publish(Arc::new(script_source), self.backend_set.generation())
    }

    /// Puts other local tools in place; the generation of backends with them.
    pub(super) fn apply_local(&self, local: Arc<LocalTools>) -> u64 {
        let mut applied = self.lock();
        let others = !local.is_same_as(&applied.local);
        applied.local = local;
        if others {
            self.backend_set.replace(applied.servers.backends().chain(applied.local.backends()).collect());
        }
        self.backend_set.generation()
    }

    fn publish(&self, script_source: Arc<ScriptSource>, generation: u64) -> u64 {
        self.editions.send_modify(|edition| {
            *edition = Edition { number: edition.number + 1, script_source: Some(script_source), generation };
        });
        self.editions.borrow().number
    }
}
