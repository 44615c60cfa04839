//! Routes of vendor methods: which server answers a method that MCP does not define.

use std::sync::Arc;

use proxy_config::Config;
use proxy_model::MethodPattern;

/// The `methods` of all servers in the config.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes(Vec<(MethodPattern, Arc<str>)>);

impl Routes {
    pub(crate) fn new(config: &Config) -> Self {
        let servers = config.servers.iter().filter(|(_, server)| !server.disabled);
        let routes = servers.flat_map(|(name, server)| {
            let name: Arc<str> = name.as_str().into();
            server.methods.iter().map(move |pattern| (pattern.clone(), Arc::clone(&name)))
        });
        Routes(routes.collect())
    }

    /// The server that answers a method. An exact name wins over a prefix, and a longer prefix over a shorter one.
    pub(crate) fn owner(&self, method: &str) -> Option<&Arc<str>> {
        let matching = self.0.iter().filter_map(|(pattern, server)| Some((pattern.fit(method)?, server)));
        matching.max_by_key(|(fit, _)| *fit).map(|(_, server)| server)
    }
}
