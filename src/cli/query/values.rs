//! Which queries need the values of credentials and commands.

use std::borrow::Cow;

use super::Query;
use crate::cli::failure::CommandFailure;
use crate::cli::setup::{self, LoadedConfig};
use proxy_config::{Config, ServerConfig};
use proxy_mcp_client::{Cache, StartPolicy};

/// Sections that no list needs.
const UNNEEDED: [&str; 4] = ["auth.", "audit.", "telemetry.", "serve.identityKey"];

/// The config with the values that the query needs: all if it starts a server or calls something, none if cached lists are
/// enough.
pub(super) fn config<'a>(query: &Query<'a>) -> Result<Cow<'a, Config>, CommandFailure> {
    let only_lists = query.start == StartPolicy::Unknown && query.wanted.is_none() && !query.runs_code;
    if only_lists && !lists_need_values(query.loaded) {
        return Ok(Cow::Borrowed(&query.loaded.config));
    }
    query.loaded.with_all_values()
}

fn lists_need_values(loaded: &LoadedConfig) -> bool {
    let config = &loaded.config;
    let servers = ["mcpServers.", "servers."];
    let elsewhere = |key: &&String| !servers.iter().chain(&UNNEEDED).any(|section| key.starts_with(section));
    if config.unread.iter().any(|key| elsewhere(&key)) {
        return true;
    }
    let cache = Cache::at(setup::cache_folder());
    let lock = config.read_lock().ok().flatten();
    let is_started = |(name, server): (&String, &ServerConfig)| {
        !server.unread.is_empty() && !server.is_per_person() && !cache.has_lists(name, server, lock.as_ref())
    };
    config.servers.iter().any(is_started)
}
