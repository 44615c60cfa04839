//! Which server has the methods that the protocol itself does not know.

use std::sync::Arc;

use crate::config::Config;
use crate::model::MethodPattern;

/// What the config says in `methods`.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes(Vec<(MethodPattern, Arc<str>)>);

impl Routes {
    pub(super) fn new(config: &Config) -> Self {
        let servers = config.servers.iter().filter(|(_, server)| !server.disabled);
        let routes = servers.flat_map(|(name, server)| {
            let name: Arc<str> = name.as_str().into();
            server.methods.iter().map(move |pattern| (pattern.clone(), Arc::clone(&name)))
        });
        Routes(routes.collect())
    }

    /// The server a method belongs to: a name goes before a beginning, a longer beginning before a shorter one.
    pub(super) fn owner(&self, method: &str) -> Option<&Arc<str>> {
        let fitting = self.0.iter().filter_map(|(pattern, server)| Some((pattern.fit(method)?, server)));
        fitting.max_by_key(|(fit, _)| *fit).map(|(_, server)| server)
    }
}
