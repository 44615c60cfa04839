//! Checks a config before it is applied, and loads what it names. Every error in a config is found here.

use std::collections::HashMap;
use std::sync::Arc;

use super::local_tools::LocalTools;
use super::routes::Routes;
use super::script_source::script_source;
use crate::gateway::options::GatewayOptions;
use crate::gateway::rebuild::ProfileScripts;
use crate::surface::ScriptSource;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::{Config, Embedding, RedisAddress, StoreAddress};
use proxy_fiber::Pool;
use proxy_host_io::HostIo;
use proxy_identity::cedar::Policies;
use proxy_model::lock::Lock;
use proxy_search::Embedder;
use proxy_search::semantic::{BuiltinEmbedder, server};
use proxy_store::{RedisSettings, Store};
use proxy_wire::http;

/// Everything that a config asks for, ready to be applied.
pub(crate) struct Prepared {
    pub(crate) script_source: Arc<ScriptSource>,
    pub(crate) profiles: ProfileScripts,
    pub(crate) routes: Arc<Routes>,
    pub(crate) local: Arc<LocalTools>,
    /// Not connected yet.
    pub(crate) store: Store,
    /// `None` if everybody may use everything.
    pub(crate) policies: Option<Arc<Policies>>,
    /// `None` if no server is locked.
    pub(crate) lock: Option<Arc<Lock>>,
}

impl Prepared {
    /// Reads files and runs extensions; blocking. An extension that fails to load is reported by `local` and leaves the
    /// others alone. A path under `extensions` that does not exist is an error of the config.
    pub(crate) fn of(
        config: &Config,
        options: &GatewayOptions,
        http: &http::HttpPool,
        pool: &Pool,
        host_io: &Arc<HostIo>,
        before: &LocalTools,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let embedder = embedder(config, options, http, &mut problems);
        let profiles = of_profiles(config, embedder.as_ref(), options, http, &mut problems);
        let script_source = script_source(config, embedder).map_err(|problem| problems.push(problem)).ok();
        let script_source = script_source.map(|script_source| match &options.first_user {
            Some(user) => ScriptSource { first_users: vec![user.clone()], ..script_source },
            None => script_source,
        });
        let local = before.reload(config, options.bundled, pool, host_io);
        problems.extend(local.missing.iter().cloned());
        problems.extend(local.unknown_workloads(config));
        let store = store(config).map_err(|problem| problems.push(problem)).ok();
        let policies = config.cedar.as_ref().map(|cedar| Policies::load(cedar, &config.folder)).transpose();
        let policies = policies.map_err(|errors| problems.extend(errors)).ok().flatten().map(Arc::new);
        let lock = read_lock(config, options).map_err(|error| problems.push(*error)).ok().flatten();
        let (Some(script_source), Some(store), true) = (script_source, store, problems.is_empty()) else {
            return Err(problems);
        };
        let (script_source, routes) = (Arc::new(script_source), Arc::new(Routes::new(config)));
        Ok(Prepared {
            script_source,
            profiles: Arc::new(profiles),
            routes,
            local: Arc::new(local),
            store,
            policies,
            lock,
        })
    }
}

/// The scripts of the profiles. A profile that searches like the top level uses the same model.
fn of_profiles(
    config: &Config,
    embedder_of_top: Option<&Arc<dyn Embedder>>,
    options: &GatewayOptions,
    http: &http::HttpPool,
    problems: &mut Vec<Diagnostic>,
) -> HashMap<Arc<str>, Arc<ScriptSource>> {
    let mut scripts = HashMap::new();
    for (name, profile) in &config.profiles {
        let config_of_profile = config.of_profile(profile);
        let embedder = if config_of_profile.optimizer.embedding == config.optimizer.embedding {
            embedder_of_top.cloned()
        } else {
            embedder(&config_of_profile, options, http, problems)
        };
        match script_source(&config_of_profile, embedder) {
            Ok(script_source) => drop(scripts.insert(name.as_str().into(), Arc::new(script_source))),
            Err(problem) => problems.push(problem),
        }
    }
    scripts
}

/// The lock beside the config. `None` if no server is locked, or if the caller wants to see what servers list themselves.
pub(crate) fn read_lock(config: &Config, options: &GatewayOptions) -> Result<Option<Arc<Lock>>, Box<Diagnostic>> {
    if options.ignores_lock {
        return Ok(None);
    }
    Ok(config.read_lock()?.map(Arc::new))
}

/// The store that the config names, not connected yet.
pub(crate) fn store(config: &Config) -> Result<Store, Diagnostic> {
    match &config.store {
        StoreAddress::Memory => Ok(Store::memory()),
        StoreAddress::Redis(RedisAddress { url, prefix }) => Store::redis_with(&RedisSettings {
            address: url.reveal(),
            prefix,
            session_lifetime: config.serve.session_lifetime,
        })
        .map_err(|error| Diagnostic::error(format!("`store.url`: {error}")).hint("`redis://HOST:PORT`")),
    }
}

/// The model for searches by meaning; `None` if words alone decide.
fn embedder(
    config: &Config,
    options: &GatewayOptions,
    http: &http::HttpPool,
    problems: &mut Vec<Diagnostic>,
) -> Option<Arc<dyn Embedder>> {
    if !options.search_by_meaning {
        return None;
    }
    let runtime = tokio::runtime::Handle::current();
    let folder = options.cache_folder.as_deref();
    match config.optimizer.embedding.as_ref().unwrap_or(&Embedding::Builtin) {
        Embedding::None => None,
        Embedding::Builtin => match BuiltinEmbedder::new(folder, Some(runtime)) {
            Ok(embedder) => Some(Arc::new(embedder)),
            Err(error) => {
                tracing::error!(%error, "search uses words only");
                None
            }
        },
        Embedding::Server(settings) => {
            let key = options.variables.iter().find(|(name, _)| name == server::KEY_VARIABLE);
            let connected = server::connect(settings, key.map(|(_, key)| key.as_str()), folder, http, runtime);
            let problem = |error| Diagnostic::error(format!("`optimizer.embedding` cannot be used: {error}"));
            connected.map_err(|error| problems.push(problem(error))).ok()
        }
    }
}
