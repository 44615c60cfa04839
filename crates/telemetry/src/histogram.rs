//! Durations in buckets, counted without a lock.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The number of bounds; one more bucket counts what is above them all.
const BOUNDS: usize = 14;

/// The upper bounds that the semantic conventions of MCP recommend, in nanoseconds: 10 ms to 300 s.
pub const REQUEST_BOUNDS: [u64; BOUNDS] =
    milliseconds([10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000]);

/// The upper bounds of what the proxy itself adds to a call, in nanoseconds: 5 µs to 1 s.
pub const OVERHEAD_BOUNDS: [u64; BOUNDS] = [
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    50_000_000,
    100_000_000,
    1_000_000_000,
];

const fn milliseconds(mut bounds: [u64; BOUNDS]) -> [u64; BOUNDS] {
    let mut index = 0;
    while index < BOUNDS {
        bounds[index] *= 1_000_000;
        index += 1;
    }
    bounds
}

/// A histogram of durations.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64; BOUNDS],
    buckets: [AtomicU64; BOUNDS + 1],
    nanoseconds: AtomicU64,
}

impl Histogram {
    pub fn new(bounds: &'static [u64; BOUNDS]) -> Self {
        Histogram { bounds, buckets: Default::default(), nanoseconds: AtomicU64::new(0) }
    }

    pub fn record(&self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let bucket = self.bounds.iter().position(|bound| nanoseconds <= *bound).unwrap_or(BOUNDS);
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Relaxed);
    }

    pub fn snapshot(&self) -> HistogramSnapshot {
        HistogramSnapshot {
            bounds: self.bounds,
            buckets: self.buckets.each_ref().map(|bucket| bucket.load(Relaxed)),
            nanoseconds: self.nanoseconds.load(Relaxed),
        }
    }
}

/// The state of a histogram at one moment.
#[derive(Clone, Copy, Debug)]
pub struct HistogramSnapshot {
    bounds: &'static [u64; BOUNDS],
    buckets: [u64; BOUNDS + 1],
    nanoseconds: u64,
}

impl HistogramSnapshot {
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The sum of all durations, in seconds.
    pub fn seconds(&self) -> f64 {
        seconds(self.nanoseconds)
    }

    /// The sum of two histograms with the same bounds.
    pub(super) fn plus(mut self, other: &Self) -> Self {
        for (bucket, more) in self.buckets.iter_mut().zip(other.buckets) {
            *bucket += more;
        }
        self.nanoseconds += other.nanoseconds;
        self
    }

    /// The estimated quantile in seconds, assuming that the durations in each bucket are spread evenly. Durations above all
    /// bounds count as the highest bound. `None` if there are none.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = share * self.count() as f64;
        let (mut below, mut lower) = (0.0, 0.0);
        for (bound, count) in self.buckets().filter(|_| self.count() > 0) {
            let count = count as f64;
            if below + count >= wanted {
                let within = if count > 0.0 { (wanted - below) / count } else { 0.0 };
                return Some(if bound.is_finite() { lower + (bound - lower) * within } else { lower });
            }
            (below, lower) = (below + count, bound);
        }
        None
    }

    /// The upper bounds in seconds, each with the count of its own bucket. The last bound is infinite.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let bounds = self.bounds.iter().map(|bound| seconds(*bound)).chain([f64::INFINITY]);
        bounds.zip(self.buckets.iter().copied())
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    Duration::from_nanos(nanoseconds).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_the_bucket_of_the_first_bound_that_is_not_below_it() {
        let histogram = Histogram::new(&REQUEST_BOUNDS);
        for milliseconds in [0, 10, 11, 301_000] {
            histogram.record(Duration::from_millis(milliseconds));
        }
        let snapshot = histogram.snapshot();
        let counted: Vec<(f64, u64)> = snapshot.buckets().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [(0.01, 2), (0.02, 1), (f64::INFINITY, 1)]);
        assert_eq!((snapshot.count(), snapshot.seconds()), (4, 301.021));
    }

    #[test]
    fn a_quantile_is_estimated_within_its_bucket() {
        let histogram = Histogram::new(&REQUEST_BOUNDS);
        assert_eq!(histogram.snapshot().quantile(0.5), None);
        for milliseconds in [15, 15, 15, 15] {
            histogram.record(Duration::from_millis(milliseconds));
        }
        let snapshot = histogram.snapshot();
        assert_eq!((snapshot.quantile(0.5), snapshot.quantile(1.0)), (Some(0.015), Some(0.02)));
        histogram.record(Duration::from_secs(1000));
        assert_eq!(histogram.snapshot().quantile(1.0), Some(300.0), "the highest bound");
    }
}
