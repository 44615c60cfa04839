//! Which entries are logged: by level, for the proxy, for scripts and for single servers.

use std::collections::HashMap;
use std::sync::LazyLock;

use arc_swap::ArcSwap;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata};

use super::{AUDIT, LOG, MESSAGE, REQUEST, SCRIPT, SERVER, SERVER_STATE, STATUS};

static CURRENT: LazyLock<ArcSwap<Levels>> = LazyLock::new(ArcSwap::default);

/// The levels of a command unless its arguments say otherwise.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct DefaultLevels {
    pub(in crate::cli) proxy: LevelFilter,
    pub(in crate::cli) script: LevelFilter,
}

impl DefaultLevels {
    pub(in crate::cli) const fn all(level: LevelFilter) -> Self {
        DefaultLevels { proxy: level, script: level }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Levels {
    proxy: LevelFilter,
    script: LevelFilter,
    /// Servers with levels of their own.
    servers: HashMap<String, LevelFilter>,
}

impl Default for Levels {
    fn default() -> Self {
        Levels::of(DefaultLevels::all(LevelFilter::OFF))
    }
}

impl Levels {
    pub(super) fn of(levels: DefaultLevels) -> Self {
        Levels { proxy: levels.proxy, script: levels.script, servers: HashMap::new() }
    }

    /// The level for entries of a target. `own` is the level of the server that they are about, if it has one.
    fn of_target(&self, target: &str, own: Option<LevelFilter>) -> LevelFilter {
        match target {
            AUDIT | STATUS => LevelFilter::TRACE,
            SCRIPT => self.script,
            // Below `warn`, other crates log whole messages, including secrets.
            target if !is_own(target) => self.proxy.min(LevelFilter::WARN),
            _ if self.proxy == LevelFilter::OFF => LevelFilter::OFF,
            _ => own.unwrap_or(self.proxy),
        }
    }

    /// The highest level of an entry like this, whatever server it is about.
    fn highest(&self, entry: &Metadata<'_>) -> LevelFilter {
        let has_server = entry.fields().field("server").is_some();
        match entry.target() {
            // Processed even if it is not logged: for `proxy logs`, and so that later warnings count as new.
            SERVER | SERVER_STATE => LevelFilter::TRACE,
            target if has_server => self.of_target(target, self.servers.values().copied().chain([self.proxy]).max()),
            target => self.of_target(target, None),
        }
    }
}

fn is_own(target: &str) -> bool {
    let is_crate = target.starts_with("proxy_") || target.starts_with(env!("CARGO_CRATE_NAME"));
    is_crate || [REQUEST, LOG, SERVER, SERVER_STATE, MESSAGE].contains(&target)
}

pub(super) fn set(levels: Levels) {
    CURRENT.store(levels.into());
}

pub(super) fn set_servers(servers: HashMap<String, LevelFilter>) {
    let levels = Levels { servers, ..Levels::clone(&CURRENT.load()) };
    CURRENT.store(levels.into());
    tracing::callsite::rebuild_interest_cache();
}

/// Whether any entry like this is of interest.
pub(super) fn is_possible(entry: &Metadata<'_>) -> bool {
    *entry.level() <= CURRENT.load().highest(entry)
}

/// The level above which no entry is of interest. What servers write to stderr always is.
pub(super) fn maximum() -> LevelFilter {
    let levels = CURRENT.load();
    let servers = levels.servers.values().copied();
    servers.chain([levels.proxy, levels.script]).fold(LevelFilter::DEBUG, LevelFilter::max)
}

/// Whether an entry is logged that is about this server.
pub(super) fn admits(entry: &Metadata<'_>, server: Option<&str>) -> bool {
    let levels = CURRENT.load();
    let own = server.and_then(|server| levels.servers.get(server)).copied();
    *entry.level() <= levels.of_target(entry.target(), own)
}

/// Whether the log level asks for everything that servers write.
pub(super) fn wants_all_of_servers() -> bool {
    Level::DEBUG <= CURRENT.load().proxy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_every_crate_of_the_proxy_are_its_own() {
        for target in ["proxy_engine::calls::permit", "proxy_base::watch", "starlark_mcp_proxy::admin", REQUEST] {
            assert!(is_own(target), "{target}");
        }
        for target in ["h2::proto", "rmcp::transport", "rustls::client"] {
            assert!(!is_own(target), "{target}");
        }
    }
}
