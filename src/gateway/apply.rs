//! A config put in place: at the start, and again whenever it changes.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::watch;

use super::fleet::Fleet;
use super::prepare::Prepared;
use super::rebuild::Edition;
use super::routes::Routes;
use super::servers::{Difference, Servers};
use crate::backend::{Backend, Environment};
use crate::config::{Config, StoreAddress};
use crate::extension::ExtensionBackend;

/// All that a config decides and another one may decide otherwise.
pub(super) struct Installation {
    pub(super) environment: Environment,
    pub(super) fleet: Arc<Fleet>,
    pub(super) editions: watch::Sender<Edition>,
    pub(super) routes: ArcSwap<Routes>,
    applied: Mutex<Applied>,
}

#[derive(Default)]
struct Applied {
    servers: Servers,
    extensions: Vec<Arc<ExtensionBackend>>,
    /// None before the first config.
    store: Option<StoreAddress>,
}

impl Installation {
    pub(super) fn new(environment: Environment, fleet: Fleet) -> Self {
        Installation {
            environment,
            fleet: Arc::new(fleet),
            editions: watch::channel(Edition::default()).0,
            routes: ArcSwap::default(),
            applied: Mutex::default(),
        }
    }

    /// Puts a config in place. Surfaces follow when they have been made.
    pub(super) fn apply(&self, config: &Config, prepared: Prepared) -> Difference {
        let mut applied = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
        let difference = applied.servers.apply(config, &self.environment, &self.fleet);
        let local = !(applied.extensions.is_empty() && prepared.extensions.is_empty());
        let others = local || difference != Difference::default();
        applied.extensions = prepared.extensions;
        self.routes.store(prepared.routes);
        // What is remembered survives every change but that of its place.
        if applied.store.as_ref() != Some(&config.store) {
            applied.store = Some(config.store.clone());
            self.fleet.keep_in(prepared.store);
        }
        // The script first: it waits for the backends it is meant for, and so never runs with others.
        let generation = self.fleet.generation() + u64::from(others);
        self.editions.send_modify(|edition| {
            *edition = Edition { number: edition.number + 1, recipe: Some(prepared.recipe), generation };
        });
        if others {
            let local = applied.extensions.iter().map(|extension| Arc::clone(extension) as Arc<dyn Backend>);
            self.fleet.replace(applied.servers.backends().chain(local).collect());
        }
        difference
    }
}
