//! A config looked through before anything is done about it: all that can be wrong with it is found here.

use std::sync::Arc;

use super::local::LocalTools;
use super::routes::Routes;
use super::script_source::script_source;
use super::start::Options;
use crate::config::{Config, StoreAddress};
use crate::diagnostic::Diagnostic;
use crate::fiber::Pool;
use crate::host_io::Reach;
use crate::search::Embedder;
use crate::search::embedding;
use crate::store::Store;
use crate::surface::ScriptSource;
use crate::wire::http;

/// Everything that a config asks for, ready to be put in place.
pub(super) struct Prepared {
    pub(super) script_source: Arc<ScriptSource>,
    pub(super) routes: Arc<Routes>,
    pub(super) local: Arc<LocalTools>,
    /// Nothing has been sent to it yet.
    pub(super) store: Store,
}

impl Prepared {
    /// Blocking: it reads files and runs extensions. An extension that does not load is no reason to do without the
    /// others: it is among the problems of `local`. A path of the config at which there is nothing is an error of the
    /// config.
    pub(super) fn of(
        config: &Config,
        options: &Options,
        http: &http::Pool,
        pool: &Pool,
        reach: &Arc<Reach>,
        before: &LocalTools,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let embedder = embedder(config, options, http, &mut problems);
        let script_source = script_source(config, embedder).map_err(|problem| problems.push(problem)).ok();
        let local = before.look(config, options.bundled, pool, reach);
        problems.extend(local.missing.iter().cloned());
        let store = store(config).map_err(|problem| problems.push(problem)).ok();
        let (Some(script_source), Some(store), true) = (script_source, store, problems.is_empty()) else {
            return Err(problems);
        };
        let (script_source, routes) = (Arc::new(script_source), Arc::new(Routes::new(config)));
        Ok(Prepared { script_source, routes, local: Arc::new(local), store })
    }
}

/// The store that the config names.
pub(super) fn store(config: &Config) -> Result<Store, Diagnostic> {
    match &config.store {
        StoreAddress::Memory => Ok(Store::memory()),
        StoreAddress::Redis(address) => Store::redis(address.reveal())
            .map_err(|error| Diagnostic::error(format!("`store.url`: {error}")).hint("`redis://HOST:PORT`")),
    }
}

/// Who makes vectors for searches, if the config names somebody.
fn embedder(
    config: &Config,
    options: &Options,
    http: &http::Pool,
    problems: &mut Vec<Diagnostic>,
) -> Option<Arc<dyn Embedder>> {
    let wanted = config.optimizer.embedding.as_ref()?;
    let key = options.variables.iter().find(|(name, _)| name == embedding::KEY_VARIABLE).map(|(_, key)| key.as_str());
    let folder = options.cache_folder.as_deref();
    let made = embedding::connect(wanted, key, folder, http, tokio::runtime::Handle::current());
    made.map_err(|error| problems.push(Diagnostic::error(format!("`optimizer.embedding` cannot be used: {error}"))))
        .ok()
}
