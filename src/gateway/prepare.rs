//! A config looked through before anything is done about it: all that can be wrong with it is found here.

use std::path::PathBuf;
use std::sync::Arc;

use super::recipe::recipe;
use super::routes::{self, Routes};
use super::start::Options;
use crate::backend::Backend;
use crate::config::{Config, StoreAddress};
use crate::diagnostic::Diagnostic;
use crate::embedding;
use crate::extension::{self, ExtensionBackend};
use crate::reach::Reach;
use crate::script::Pool;
use crate::search::Embedder;
use crate::session::Recipe;
use crate::store::Store;
use crate::wire::http;

/// Everything that a config asks for, ready to be put in place.
pub(super) struct Prepared {
    pub(super) recipe: Arc<Recipe>,
    pub(super) routes: Arc<Routes>,
    pub(super) extensions: Vec<Arc<ExtensionBackend>>,
    /// Nothing has been sent to it yet.
    pub(super) store: Store,
}

impl Prepared {
    /// Blocking: it reads files and runs extensions.
    pub(super) fn of(
        config: &Config,
        options: &Options,
        http: &http::Pool,
        pool: &Pool,
        reach: &Arc<Reach>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let embedder = embedder(config, options, http, &mut problems);
        let recipe = recipe(config, embedder).map_err(|problem| problems.push(problem)).ok();
        let paths: Vec<PathBuf> = config.extensions.iter().map(|extension| extension.path.clone()).collect();
        let extensions = extension::discover(&paths, options.bundled, pool, reach)
            .map_err(|found| problems.extend(found))
            .unwrap_or_default();
        problems.extend(name_clashes(config, &extensions));
        problems.extend(routes::clashes(config));
        let store = store(config).map_err(|problem| problems.push(problem)).ok();
        let (Some(recipe), Some(store), true) = (recipe, store, problems.is_empty()) else { return Err(problems) };
        Ok(Prepared {
            recipe: Arc::new(recipe),
            routes: Arc::new(Routes::new(config)),
            extensions: extensions.into_iter().map(Arc::new).collect(),
            store,
        })
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

pub(super) fn name_clashes(config: &Config, extensions: &[ExtensionBackend]) -> Vec<Diagnostic> {
    extensions
        .iter()
        .map(|extension| extension.view().name.clone())
        .filter(|name| config.servers.contains_key(name.as_ref()))
        .map(|name| Diagnostic::error(format!("the extension `{name}` has the name of a server")))
        .collect()
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
