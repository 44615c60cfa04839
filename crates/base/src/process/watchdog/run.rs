//! The watchdog process: remembers process groups until the connection to the proxy ends, then kills them.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::group::WatchedGroup;
use super::protocol::{self, Receiver, WatchdogEvent};
use crate::process::tree;

/// How often the descendants are refreshed: each refresh reads all of `/proc`.
const REFRESH_PERIOD: Duration = Duration::from_secs(5);
/// Delay of the first refresh, in which the first server can start its own children.
const FIRST_REFRESH_DELAY: Duration = Duration::from_secs(1);
/// Time between `SIGTERM` and `SIGKILL`.
const TERMINATION_TIMEOUT: Duration = Duration::from_millis(300);

/// Runs the watchdog on the socket at standard input, until the proxy ends it or is gone.
pub fn run() -> io::Result<()> {
    // In a session of its own the watchdog does not receive the terminal's Ctrl-C: it must outlive the proxy.
    let _ = rustix::process::setsid();
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut groups = WatchedGroups { by_leader: HashMap::new(), last_refresh: None, next_refresh: Instant::now() };
    if groups.watch(&mut Receiver::new(socket)) == ProxyExit::Crash {
        groups.kill();
    }
    Ok(())
}

#[derive(PartialEq, Eq)]
enum ProxyExit {
    /// The proxy has stopped its servers. Groups that are still known belong to programs that never started.
    Orderly,
    /// The connection ended without the final record.
    Crash,
}

struct WatchedGroups {
    by_leader: HashMap<Pid, WatchedGroup>,
    last_refresh: Option<Instant>,
    next_refresh: Instant,
}

impl WatchedGroups {
    fn watch(&mut self, receiver: &mut Receiver) -> ProxyExit {
        loop {
            // Without groups there is nothing to refresh: sleep until a record arrives.
            let timeout =
                (!self.by_leader.is_empty()).then(|| self.next_refresh.saturating_duration_since(Instant::now()));
            match receiver.next(timeout) {
                WatchdogEvent::Record(protocol::END) => return ProxyExit::Orderly,
                WatchdogEvent::Record(number) => self.record(number),
                WatchdogEvent::Timeout => {}
                WatchdogEvent::Closed => return ProxyExit::Crash,
            }
            if !self.by_leader.is_empty() && self.next_refresh <= Instant::now() {
                self.refresh();
            }
        }
    }

    fn record(&mut self, number: i32) {
        let Some(leader) = Pid::from_raw(number.saturating_abs()) else { return };
        if number < 0 {
            self.by_leader.remove(&leader);
            return;
        }
        if self.by_leader.is_empty() {
            let first = Instant::now() + FIRST_REFRESH_DELAY;
            self.next_refresh = self.last_refresh.map_or(first, |last| first.max(last + REFRESH_PERIOD));
        }
        self.by_leader.insert(leader, WatchedGroup::new(leader));
    }

    fn refresh(&mut self) {
        let all = tree::processes();
        self.by_leader.retain(|_, group| group.refresh(&all));
        let now = Instant::now();
        (self.last_refresh, self.next_refresh) = (Some(now), now + REFRESH_PERIOD);
    }

    fn kill(&mut self) {
        self.refresh();
        if self.by_leader.is_empty() {
            return;
        }
        for (signal, pause) in [(Signal::TERM, TERMINATION_TIMEOUT), (Signal::KILL, Duration::ZERO)] {
            self.by_leader.values().for_each(|group| group.signal(signal));
            std::thread::sleep(pause);
        }
    }
}
