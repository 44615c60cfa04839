//! Exponential backoff: the delays between attempts at something that keeps failing.

use std::time::Duration;

/// Delays that double from `first` to `max`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    next: Duration,
}

impl Backoff {
    pub fn new(first: Duration, max: Duration) -> Self {
        Backoff { first, max, next: first.min(max) }
    }

    /// The delay before the next attempt. Each call doubles the next delay.
    pub fn next_delay(&mut self) -> Duration {
        let delay = self.next;
        self.next = delay.saturating_mul(2).min(self.max);
        delay
    }

    /// Starts again with the first delay, after a success.
    pub fn reset(&mut self) {
        self.next = self.first.min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum_and_start_again_after_a_reset() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        assert_eq!([0; 5].map(|_| backoff.next_delay().as_secs()), [1, 2, 4, 5, 5]);
        backoff.reset();
        assert_eq!([0; 2].map(|_| backoff.next_delay().as_secs()), [1, 2]);
    }

    #[test]
    fn the_maximum_also_limits_the_first_delay() {
        let mut backoff = Backoff::new(Duration::from_secs(9), Duration::from_secs(5));
        assert_eq!(backoff.next_delay(), Duration::from_secs(5));
    }
}
