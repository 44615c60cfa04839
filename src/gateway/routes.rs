//! Which server has the methods that the protocol itself does not know.

use std::sync::Arc;

use crate::config::Config;
use crate::diagnostic::Diagnostic;
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

/// Methods that are given to two servers.
pub(super) fn clashes(config: &Config) -> Vec<Diagnostic> {
    let Routes(routes) = Routes::new(config);
    let mut problems = Vec::new();
    for (index, (pattern, server)) in routes.iter().enumerate() {
        let earlier = routes[..index].iter().find(|(other, owner)| other == pattern && owner != server);
        let Some((_, owner)) = earlier else { continue };
        let mut problem = Diagnostic::error(format!(
            "the method `{pattern}` is given to the server `{server}` and to `{owner}`; only one can have it"
        ));
        problem.place = config.servers.get(server.as_ref()).and_then(|server| server.place.clone());
        problems.push(problem);
    }
    problems
}
