//! The messages that a person reads while the proxy starts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cli::{logging, table};
use proxy_author::check::unpublished;
use proxy_engine::gateway::Gateway;
use proxy_model::{BackendKind, BackendView, ItemKind, Status};

/// Prints a summary of what is served.
pub(super) fn print_summary(gateway: &Gateway) {
    let snapshot = gateway.snapshot();
    let surface = gateway.watch().borrow().surface.clone();
    let tools = surface.as_ref().map_or(0, |surface| surface.listed(ItemKind::Tool));
    let up = snapshot.backends.iter().filter(|backend| is_up(backend)).count();
    let resting = snapshot.backends.iter().filter(|backend| rests(backend)).count();
    let all = snapshot.backends.len();
    let states: Vec<String> =
        [(up + resting < all).then(|| format!("{up} up so far")), (resting > 0).then(|| format!("{resting} resting"))]
            .into_iter()
            .flatten()
            .collect();
    let servers = if states.is_empty() {
        table::count(all, "server")
    } else {
        format!("{} ({})", table::count(all, "server"), states.join(", "))
    };
    logging::status(&format!("ready: {} of {servers}", table::count(tools, "tool")));
    if let Some(surface) = surface {
        logging::problems(&unpublished(&surface, &snapshot));
    }
}

/// Prints how the start of the servers ended.
pub(super) fn print_servers(gateway: &Gateway, started: Instant) {
    let snapshot = gateway.snapshot();
    let servers = || snapshot.backends.iter().filter(|backend| backend.kind != BackendKind::Extension);
    let (resting, missing): (Vec<_>, Vec<_>) =
        servers().filter(|server| !is_up(server)).partition(|server| rests(server));
    let (waiting, failed): (Vec<_>, Vec<_>) = missing.into_iter().partition(|server| server.status == Status::Login);
    let names = |servers: &[&Arc<BackendView>]| servers.iter().map(|server| server.name.to_string()).collect();
    let missing = MissingServers { failed: names(&failed), waiting: names(&waiting), resting: resting.len() };
    if let Some(line) = servers_line(servers().count(), &missing, started.elapsed()) {
        logging::status(&line);
    }
}

/// Whether there is nothing to wait for. A server with a connection for each user is connected later.
fn is_up(server: &BackendView) -> bool {
    matches!(server.status, Status::Ready | Status::PerPerson)
}

/// Whether it is not running because nothing needs it.
fn rests(server: &BackendView) -> bool {
    server.status == Status::Resting && server.error.is_empty()
}

/// The servers that are not up, by name.
#[derive(Default)]
struct MissingServers {
    failed: Vec<String>,
    /// The servers that wait for authorization.
    waiting: Vec<String>,
    /// How many are not running because nothing needs them.
    resting: usize,
}

impl MissingServers {
    fn describe(&self) -> String {
        let names = |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let mut parts = Vec::new();
        if !self.failed.is_empty() {
            parts.push(format!("{} failed", names(&self.failed)));
        }
        if !self.waiting.is_empty() {
            let verb = if self.waiting.len() == 1 { "waits" } else { "wait" };
            parts.push(format!("{} {verb} for authorization", names(&self.waiting)));
        }
        match self.resting {
            0 => {}
            1 => parts.push("1 rests until it is needed".to_owned()),
            resting => parts.push(format!("{resting} rest until they are needed")),
        }
        parts.join("; ")
    }
}

fn servers_line(all: usize, missing: &MissingServers, time: Duration) -> Option<String> {
    let up = all.saturating_sub(missing.failed.len() + missing.waiting.len() + missing.resting);
    let all_rest = missing.resting == all;
    let (missing, seconds) = (missing.describe(), time.as_secs_f32());
    Some(match (all, up) {
        (0, _) => return None,
        (1, _) if all_rest => "the server rests until it is needed".to_owned(),
        _ if all_rest => format!("all {all} servers rest until they are needed"),
        (1, 1) => format!("the server is up ({seconds:.1} s)"),
        (1, _) => format!("the server is not up; {missing}"),
        (_, 0) => format!("none of the {all} servers is up; {missing}"),
        _ if up == all && all == 2 => format!("both servers are up ({seconds:.1} s)"),
        _ if up == all => format!("all {all} servers are up ({seconds:.1} s)"),
        (_, 1) => format!("1 of {all} servers is up; {missing}"),
        _ => format!("{up} of {all} servers are up; {missing}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_the_start_says_which_servers_failed() {
        let line = |all, failed: &[&str]| {
            let failed = failed.iter().map(ToString::to_string).collect();
            let missing = MissingServers { failed, ..MissingServers::default() };
            servers_line(all, &missing, Duration::from_millis(13_400)).unwrap_or_default()
        };
        assert_eq!(line(2, &[]), "both servers are up (13.4 s)");
        assert_eq!(line(18, &[]), "all 18 servers are up (13.4 s)");
        assert_eq!(line(18, &["a", "b"]), "16 of 18 servers are up; `a`, `b` failed");
        assert_eq!(line(2, &["a"]), "1 of 2 servers is up; `a` failed");
        assert_eq!(line(2, &["a", "b"]), "none of the 2 servers is up; `a`, `b` failed");
        assert_eq!([line(1, &[]), line(1, &["a"])], ["the server is up (13.4 s)", "the server is not up; `a` failed"]);
        assert_eq!(line(0, &[]), "");
    }

    #[test]
    fn servers_that_rest_are_not_missed() {
        let line = |all, resting, failed: &[&str]| {
            let failed = failed.iter().map(ToString::to_string).collect();
            let missing = MissingServers { failed, resting, ..MissingServers::default() };
            servers_line(all, &missing, Duration::from_millis(1200)).unwrap_or_default()
        };
        assert_eq!(line(50, 47, &[]), "3 of 50 servers are up; 47 rest until they are needed");
        assert_eq!(line(3, 1, &["a"]), "1 of 3 servers is up; `a` failed; 1 rests until it is needed");
        assert_eq!(line(50, 50, &[]), "all 50 servers rest until they are needed");
        assert_eq!(line(1, 1, &[]), "the server rests until it is needed");
    }

    #[test]
    fn servers_that_wait_for_a_log_in_have_not_failed() {
        let line = |failed: &[&str], waiting: &[&str]| {
            let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
            let missing = MissingServers { failed: names(failed), waiting: names(waiting), resting: 0 };
            servers_line(4, &missing, Duration::ZERO).unwrap_or_default()
        };
        assert_eq!(line(&[], &["a"]), "3 of 4 servers are up; `a` waits for authorization");
        assert_eq!(line(&["x"], &["a", "b"]), "1 of 4 servers is up; `x` failed; `a`, `b` wait for authorization");
    }
}
