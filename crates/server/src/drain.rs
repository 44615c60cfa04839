//! The end of streams at a shutdown, spread over time: clients that lose their streams at once come back at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// What a client that comes back takes, at a moderate pace.
const PACE: Duration = Duration::from_millis(5);

/// Gives each stream that has no end of its own the time at which it ends.
#[derive(Debug, Default)]
pub(crate) struct Drain {
    /// The streams of stateless clients.
    listening: AtomicUsize,
    turns: Mutex<Option<Turns>>,
}

#[derive(Debug)]
struct Turns {
    begun: Instant,
    interval: Duration,
    next: u32,
}

/// A stream that ends at a shutdown.
pub(crate) struct DrainedStream<'a>(&'a Drain);

impl Drop for DrainedStream<'_> {
    fn drop(&mut self) {
        self.0.listening.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drain {
    /// A stream of a stateless client, until what is returned is dropped.
    pub(crate) fn stream(&self) -> DrainedStream<'_> {
        self.listening.fetch_add(1, Ordering::Relaxed);
        DrainedStream(self)
    }

    /// The shutdown begins. `sessions` more streams are those of sessions; all of them end within most of `time`.
    pub(crate) fn begin(&self, sessions: usize, time: Duration) {
        let count = sessions + self.listening.load(Ordering::Relaxed);
        let interval = interval(count, time);
        self.turns.lock().get_or_insert(Turns { begun: Instant::now(), interval, next: 0 });
    }

    /// When it is the turn of the next stream to end.
    pub(crate) fn next_turn(&self) -> Instant {
        let mut turns = self.turns.lock();
        let Some(turns) = turns.as_mut() else { return Instant::now() };
        turns.next = turns.next.saturating_add(1);
        turns.begun + turns.interval.saturating_mul(turns.next - 1) + jitter(turns.interval)
    }

    /// Waits until it is the turn of the next stream to end.
    pub(crate) async fn turn(&self) {
        tokio::time::sleep_until(self.next_turn()).await;
    }
}

/// The time between the ends of two streams: few of them end quickly, and many take nine tenths of the time.
fn interval(count: usize, time: Duration) -> Duration {
    let count = u32::try_from(count.max(1)).unwrap_or(u32::MAX);
    PACE.min(time.mul_f64(0.9) / count)
}

/// A random part of the time between two turns.
fn jitter(interval: Duration) -> Duration {
    let random = getrandom::u32().unwrap_or_default();
    interval.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_streams_end_soon_and_many_within_the_time() {
        let time = Duration::from_secs(5);
        assert_eq!(interval(1, time), PACE);
        assert_eq!(interval(0, time), PACE);
        let many = interval(10_000, time);
        assert!(many * 10_000 <= time && many * 10_000 > time / 2, "{many:?}");
        assert_eq!(interval(10, Duration::ZERO), Duration::ZERO);
    }

    #[tokio::test]
    async fn each_stream_has_a_turn_of_its_own() {
        let drain = Drain::default();
        let _listening = [drain.stream(), drain.stream()];
        drain.begin(8, Duration::from_millis(100));
        let begun = Instant::now();
        for number in 0..10 {
            drain.turn().await;
            assert!(begun.elapsed() >= PACE * number, "{number} streams have ended after {:?}", begun.elapsed());
        }
    }
}
