//! A server behind an address that changes its era back and forth: a fleet of old and new ones.

use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(60);

/// Two changes within a minute, and the older era is preferred from then on: both kinds are likely to know it.
#[derive(Debug, Default)]
pub(crate) struct EraFlapping {
    stateless: Option<bool>,
    last: Option<Instant>,
    settled: bool,
}

impl EraFlapping {
    pub(crate) fn prefers_older(&self) -> bool {
        self.settled
    }

    /// Takes note of the era just met; whether this decided the preference.
    pub(crate) fn note(&mut self, stateless: bool, now: Instant) -> bool {
        let flipped = self.stateless.replace(stateless).is_some_and(|before| before != stateless);
        if !flipped || self.settled {
            return false;
        }
        let before = self.last.replace(now);
        self.settled = before.is_some_and(|before| now.duration_since(before) < WINDOW);
        self.settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_changes_within_a_minute_decide_and_slower_ones_do_not() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut slow = EraFlapping::default();
        for (stateless, seconds) in [(false, 0), (true, 10), (true, 20), (false, 71), (true, 140)] {
            assert!(!slow.note(stateless, at(seconds)), "after {seconds} s");
        }
        assert!(slow.note(false, at(150)));
        assert!(slow.prefers_older());
        assert!(!slow.note(true, at(151)), "told once");
    }
}
