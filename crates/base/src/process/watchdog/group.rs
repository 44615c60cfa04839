//! One process group as the watchdog knows it: the leader and its descendants, including those that left the group.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::process::tree;
use crate::process::tree::ProcessEntry;

#[derive(Debug)]
pub(super) struct WatchedGroup {
    leader: Pid,
    /// Start time of the leader; `None` if it had exited before it could be read.
    started: Option<u64>,
    /// The group has been seen empty. From then on the kernel may reuse its number.
    ended: bool,
    /// Descendants seen so far. Some leave the group and cannot be found once their parents have exited.
    descendants: Vec<ProcessEntry>,
}

impl WatchedGroup {
    pub(super) fn new(leader: Pid) -> Self {
        WatchedGroup { leader, started: start_time(leader), ended: false, descendants: Vec::new() }
    }

    /// Updates the descendants, and returns whether any process is left to watch.
    pub(super) fn refresh(&mut self, all: &[ProcessEntry]) -> bool {
        self.ended = !self.is_same_group();
        // If another process has the leader's number now, its children are not descendants of this group.
        let leader = start_time(self.leader).filter(|now| Some(*now) == self.started).map(|_| self.leader);
        self.descendants = tree::running_descendants(all, leader, &self.descendants);
        !self.ended || !self.descendants.is_empty()
    }

    pub(super) fn signal(&self, signal: Signal) {
        if self.is_same_group() {
            // The group may exit between the check and the signal; that is no error.
            let _ = kill_process_group(self.leader, signal);
        }
        tree::signal(&self.descendants, signal);
    }

    /// Whether the number still names the group that registered: its leader is the same process, or has exited and left
    /// other members. The kernel does not reuse a process number while it names a group.
    fn is_same_group(&self) -> bool {
        let leader = start_time(self.leader);
        !self.ended && (leader.is_none() || leader == self.started) && test_kill_process_group(self.leader).is_ok()
    }
}

fn start_time(id: Pid) -> Option<u64> {
    tree::read(id.as_raw_nonzero().get()).map(|process| process.started)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command};

    use super::*;

    fn sleeper() -> (Child, Pid) {
        let child = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let id = Pid::from_raw(child.id().cast_signed()).unwrap();
        (child, id)
    }

    #[test]
    fn a_group_is_ended_by_its_own_number_only() {
        let (mut child, id) = sleeper();
        let own = WatchedGroup::new(id);
        for started in [None, own.started.map(|started| started - 1)] {
            let mut stale = WatchedGroup { leader: id, started, ended: false, descendants: Vec::new() };
            stale.signal(Signal::KILL);
            assert!(!stale.refresh(&tree::processes()), "a reused number does not name the group");
        }
        own.signal(Signal::TERM);
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()), "not killed by the stale ones");
    }

    #[test]
    fn a_group_that_was_empty_once_is_never_signalled_again() {
        let (mut child, id) = sleeper();
        let mut group = WatchedGroup::new(id);
        assert!(group.refresh(&tree::processes()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!group.refresh(&tree::processes()));
        assert!(!group.is_same_group());
    }
}
