//! One server as the watchdog knows it: the leader of a group and those who came from it.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::process::tree::{self, Process};

#[derive(Debug)]
pub(super) struct Ward {
    leader: Pid,
    /// When the leader started; nothing if it was gone before one could look.
    started: Option<u64>,
    /// The group was seen to be empty: from then on its number may be another's.
    ended: bool,
    /// Descendants seen so far. Some leave the group, and cannot be found once their parents are gone.
    family: Vec<Process>,
}

impl Ward {
    pub(super) fn new(leader: Pid) -> Self {
        Ward { leader, started: start_time(leader), ended: false, family: Vec::new() }
    }

    /// Brings the family up to date. Whether there is anything left to look after.
    pub(super) fn refresh(&mut self, all: &[Process]) -> bool {
        self.ended = !self.is_ours();
        // Only the leader as it was leads to descendants of ours; whoever has its number now does not.
        let leader = start_time(self.leader).filter(|now| Some(*now) == self.started).map(|_| self.leader);
        self.family = tree::family(all, leader, &self.family);
        !self.ended || !self.family.is_empty()
    }

    pub(super) fn signal(&self, signal: Signal) {
        if self.is_ours() {
            // It may end between the look and the signal; then there is nothing to do.
            let _ = kill_process_group(self.leader, signal);
        }
        tree::signal(&self.family, signal);
    }

    /// Whether the group is the one that registered: its leader is, or is gone and has left others. No number is given
    /// to a new process while it names a group.
    fn is_ours(&self) -> bool {
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
        let own = Ward::new(id);
        for started in [None, own.started.map(|started| started - 1)] {
            let mut stale = Ward { leader: id, started, ended: false, family: Vec::new() };
            stale.signal(Signal::KILL);
            assert!(!stale.refresh(&tree::processes()), "a number that is another's now is of no use");
        }
        own.signal(Signal::TERM);
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()), "not killed by the stale ones");
    }

    #[test]
    fn a_group_that_was_empty_once_is_never_signalled_again() {
        let (mut child, id) = sleeper();
        let mut ward = Ward::new(id);
        assert!(ward.refresh(&tree::processes()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!ward.refresh(&tree::processes()));
        assert!(!ward.is_ours());
    }
}
