//! Decides when an unused side connection is closed.

use std::time::Duration;

use super::side_key::SideKey;
use proxy_config::{RestSettings, TransportConfig};

/// Connections that were unused for this time are closed. A process that several clients share is soon started again, while
/// one that belongs to a client may know things about that client.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);
const SHARED_PROCESS_IDLE_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// How often a connection is asked whether it is unused.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// When a connection counts as unused.
#[derive(Clone, Copy, Debug)]
pub(super) struct SideIdle {
    is_process: bool,
    is_own: bool,
    /// When the whole server is stopped.
    idle_stop: Option<Duration>,
}

impl SideIdle {
    pub(super) fn new(transport: &TransportConfig, key: &SideKey, rest: Option<RestSettings>) -> Self {
        SideIdle {
            is_process: matches!(transport, TransportConfig::Stdio { .. }),
            is_own: key.owner.is_some(),
            idle_stop: rest.and_then(|rest| rest.idle_stop),
        }
    }

    /// After which time it counts as unused.
    pub(super) fn timeout(&self, has_tasks: bool) -> Duration {
        match (self.is_own || has_tasks, self.is_process) {
            (true, _) => IDLE_TIMEOUT,
            (false, true) => self.at_most_idle_stop(SHARED_PROCESS_IDLE_TIMEOUT),
            (false, false) => self.at_most_idle_stop(IDLE_TIMEOUT),
        }
    }

    /// How often it is asked.
    pub(super) fn check_interval(&self) -> Duration {
        self.at_most_idle_stop(CHECK_INTERVAL)
    }

    /// The server is not stopped while it has a side connection.
    fn at_most_idle_stop(&self, limit: Duration) -> Duration {
        self.idle_stop.map_or(limit, |idle_stop| idle_stop.min(limit))
    }
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
        let minutes = |transport, key, has_tasks| SideIdle::new(transport, key, None).timeout(has_tasks).as_secs() / 60;
        assert_eq!(minutes(&command, &shared, false), 5);
        assert_eq!(minutes(&command, &shared, true), 30);
        assert_eq!(minutes(&command, &own, false), 30);
        assert_eq!(minutes(&url, &shared, false), 30);
    }

    #[test]
    fn no_shared_connection_keeps_a_server_long_that_is_to_be_stopped() {
        let url = TransportConfig::Http { url: "http://h/".to_owned(), headers: Default::default(), sse: false };
        let shared = SideKey { owner: None, abilities: Abilities::ALL_SHARED, era: Era::Session };
        let rest = RestSettings { lazy: false, idle_stop: Some(Duration::from_secs(10)) };
        let idle = SideIdle::new(&url, &shared, Some(rest));
        assert_eq!([idle.timeout(false), idle.check_interval()], [Duration::from_secs(10); 2]);
        assert_eq!(idle.timeout(true), IDLE_TIMEOUT, "a task may go on");
    }
}
