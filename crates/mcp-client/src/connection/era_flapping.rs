//! Detects a URL behind which servers of different protocol eras answer in turn.

use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(60);

/// After two changes of era within a minute the older era is preferred: servers of both eras are likely to know it.
#[derive(Debug, Default)]
pub(super) struct EraFlapping {
    was_stateless: Option<bool>,
    last_change: Option<Instant>,
    prefers_older: bool,
}

impl EraFlapping {
    pub(super) fn prefers_older(&self) -> bool {
        self.prefers_older
    }

    /// Records the era of a new connection. Returns true if the older era is preferred from now on.
    pub(super) fn record(&mut self, stateless: bool, now: Instant) -> bool {
        let changed = self.was_stateless.replace(stateless).is_some_and(|before| before != stateless);
        if !changed || self.prefers_older {
            return false;
        }
        let last_change = self.last_change.replace(now);
        self.prefers_older = last_change.is_some_and(|last_change| now.duration_since(last_change) < WINDOW);
        self.prefers_older
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_changes_within_a_minute_decide_and_slower_ones_do_not() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut flapping = EraFlapping::default();
        for (stateless, seconds) in [(false, 0), (true, 10), (true, 20), (false, 71), (true, 140)] {
            assert!(!flapping.record(stateless, at(seconds)), "after {seconds} s");
        }
        assert!(flapping.record(false, at(150)));
        assert!(flapping.prefers_older());
        assert!(!flapping.record(true, at(151)), "reported once");
    }
}
