//! A config evaluated without starting servers: the script runs on the cached lists of the servers.

use std::sync::Arc;

use super::installation::{LocalTools, read_lock, script_source, store};
use super::options::GatewayOptions;
use crate::surface::{BuildError, ScriptSource, Surface};
use proxy_base::diagnostic::Diagnostic;
use proxy_config::Config;
use proxy_fiber::Pool;
use proxy_identity::cedar::Policies;
use proxy_mcp_client::{Cache, idle_view};
use proxy_model::{ClientProfile, Principal, Snapshot, SurfaceKey};

/// A prepared config and the catalog made of the caches.
pub struct Offline {
    pub script_source: ScriptSource,
    pub snapshot: Arc<Snapshot>,
    /// The errors of extensions that failed to load; the catalog has the others.
    pub extension_problems: Vec<Diagnostic>,
    policies: Option<Arc<Policies>>,
}

impl Offline {
    pub fn look(config: &Config, options: &GatewayOptions) -> Result<Self, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let script_source = script_source(config, None).map_err(|problem| problems.push(problem)).ok();
        let local = LocalTools::default().reload(config, options.bundled, &Pool::new(1), &options.host_io());
        problems.extend(local.missing.iter().cloned());
        problems.extend(local.unknown_workloads(config));
        problems.extend(store(config).err());
        let policies = config.cedar.as_ref().map(|cedar| Policies::load(cedar, &config.folder)).transpose();
        let policies = policies.map_err(|errors| problems.extend(errors)).ok().flatten().map(Arc::new);
        let lock = read_lock(config, options).map_err(|error| problems.push(*error)).ok().flatten();
        let (Some(script_source), true) = (script_source, problems.is_empty()) else { return Err(problems) };
        let cache = Cache::at(options.cache_folder.clone());
        let servers = config.servers.iter().filter(|(_, server)| !server.disabled);
        let mut backends: Vec<_> = servers
            .map(|(name, server)| {
                Arc::new(idle_view(name, server, &cache, lock.as_deref(), Some(ClientProfile::TERMINAL)))
            })
            .collect();
        backends.extend(local.backends().map(|extension| extension.view()));
        let extension_problems = local.problems().cloned().collect();
        Ok(Offline {
            script_source,
            snapshot: Arc::new(Snapshot { version: 1, generation: 1, backends }),
            extension_problems,
            policies,
        })
    }

    /// Runs the script on the cached lists.
    pub fn build(&self) -> Result<Arc<Surface>, BuildError> {
        self.script_source.build(&self.snapshot).map(Arc::new)
    }

    /// Runs the script on the cached lists for this user, and leaves out what the policies deny.
    pub fn build_for(&self, principal: Principal) -> Result<Arc<Surface>, BuildError> {
        self.build_for_key(SurfaceKey::of(principal, Arc::default()))
    }

    /// The same for the clients of a row of limits.
    pub fn build_for_row(&self, principal: Principal, row: &Arc<str>) -> Result<Arc<Surface>, BuildError> {
        self.build_for_key(SurfaceKey { row: Some(Arc::clone(row)), ..SurfaceKey::of(principal, Arc::default()) })
    }

    fn build_for_key(&self, key: SurfaceKey) -> Result<Arc<Surface>, BuildError> {
        let surface = self.script_source.build_for(&self.snapshot, key.clone()).map(Arc::new)?;
        let principal = key.principal.clone().in_profile(surface.profile().cloned());
        let key = SurfaceKey { principal, ..key };
        Ok(match &self.policies {
            Some(policies) => Arc::new(surface.permitted_to(policies, &key)),
            None => surface,
        })
    }
}
