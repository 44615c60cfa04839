//! Counts a worker's requests, and refuses messages that a correct worker never sends.

use std::collections::HashSet;

use super::exit_reason::ExitReason;
use crate::sandbox::protocol::{MAX_BRANCHES, WorkerRequest};

/// Bytes of a position. The nesting limit of `parallel` keeps real ones far below.
const MAX_POSITION: usize = 200;

#[derive(Debug)]
pub(super) struct Account {
    max_calls: usize,
    /// Positions of requests, and branches that have ended.
    seen: HashSet<String>,
    calls: usize,
    branches: usize,
    /// How many branches have ended.
    ended: usize,
}

impl Account {
    pub(super) fn new(max_calls: usize) -> Self {
        Account { max_calls, seen: HashSet::new(), calls: 0, branches: 0, ended: 0 }
    }

    /// Accepts a request at a position, and returns the branch that the position belongs to. Each position may occur once.
    pub(super) fn request(&mut self, at: &str, request: &WorkerRequest) -> Result<String, ExitReason> {
        if !is_position(at) || !self.seen.insert(at.to_owned()) {
            return Err(ExitReason::Confused("invalid or repeated position"));
        }
        match request {
            WorkerRequest::Call { .. } | WorkerRequest::Search { .. } => {
                self.calls += 1;
                if self.calls > self.max_calls {
                    return Err(ExitReason::Calls);
                }
            }
            WorkerRequest::Fork { count, limit } => {
                // A `parallel` without functions is work for the proxy too.
                self.branches = self.branches.saturating_add((*count).max(1));
                if self.branches > MAX_BRANCHES || *limit == 0 {
                    return Err(ExitReason::Confused("too many branches"));
                }
            }
        }
        Ok(at[..at.rfind('.').map_or(0, |dot| dot + 1)].to_owned())
    }

    /// Accepts the end of a branch.
    pub(super) fn end(&mut self, branch: &str) -> Result<(), ExitReason> {
        self.ended += 1;
        let is_branch = branch.strip_suffix('.').is_some_and(is_position);
        if self.ended > self.branches || !is_branch || !self.seen.insert(branch.to_owned()) {
            return Err(ExitReason::Confused("end of a branch that cannot end"));
        }
        Ok(())
    }
}

/// Whether a text has the form of a position.
fn is_position(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= MAX_POSITION && text.split('.').all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fork(count: usize) -> WorkerRequest {
        WorkerRequest::Fork { count, limit: 1 }
    }

    #[test]
    fn the_end_of_a_branch_has_a_form_and_comes_once_for_each_branch() {
        let mut account = Account::new(1);
        account.request("0", &fork(3)).unwrap();
        for wrong in ["", ".", "0", "0.0", "x.", &format!("{}.", "1".repeat(300)), &"x".repeat(1 << 20)] {
            assert!(Account { branches: 100, ..Account::new(1) }.end(wrong).is_err(), "{wrong:.20}");
        }
        for branch in ["0.0.", "0.1.", "0.2."] {
            account.end(branch).unwrap();
        }
        assert!(account.end("0.3.").is_err(), "there were three");
    }

    #[test]
    fn a_fork_without_branches_counts_too() {
        let mut account = Account::new(1);
        for number in 0..MAX_BRANCHES {
            account.request(&number.to_string(), &fork(0)).unwrap();
        }
        assert!(account.request("10000", &fork(0)).is_err());
    }
}
