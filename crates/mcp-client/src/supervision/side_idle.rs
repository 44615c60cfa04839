//! Decides when an unused side connection is closed.

use std::time::Duration;

use super::side_key::SideKey;
use proxy_config::TransportConfig;

/// Connections that were unused for this time are closed. A process that several clients share is soon started again, while
/// one that belongs to a client may know things about that client.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);
const SHARED_PROCESS_IDLE_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// After which time a connection counts as unused.
pub(super) fn idle_timeout(transport: &TransportConfig, key: &SideKey, has_tasks: bool) -> Duration {
    let is_process = matches!(transport, TransportConfig::Stdio { .. });
    if is_process && key.owner.is_none() && !has_tasks { SHARED_PROCESS_IDLE_TIMEOUT } else { IDLE_TIMEOUT }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_model::{Abilities, Era, Owner};

    #[test]
    fn only_a_shared_process_without_tasks_ends_soon() {
        let command =
            TransportConfig::Stdio { command: "x".to_owned(), args: Vec::new(), env: Default::default(), cwd: None };
        let url = TransportConfig::Http { url: "http://h/".to_owned(), headers: Default::default(), sse: false };
        let shared = SideKey { owner: None, abilities: Abilities::ALL_SHARED, era: Era::Session };
        let own = SideKey { owner: Some(Owner::new_connection()), ..shared.clone() };
        let minutes = |transport, key, has_tasks| idle_timeout(transport, key, has_tasks).as_secs() / 60;
        assert_eq!(minutes(&command, &shared, false), 5);
        assert_eq!(minutes(&command, &shared, true), 30);
        assert_eq!(minutes(&command, &own, false), 30);
        assert_eq!(minutes(&url, &shared, false), 30);
    }
}
