//! A summary of calls and their durations, for display.

use serde::Serialize;

use super::histogram::HistogramSnapshot;
use super::operations::OperationStats;

/// How many calls there were, how many of them failed, and how long they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DurationSummary {
    pub calls: u64,
    /// Without cancelled calls.
    pub errors: u64,
    /// The median in milliseconds; an estimate. `None` without calls.
    pub p50_ms: Option<f64>,
    /// What 95 of 100 calls did not exceed.
    pub p95_ms: Option<f64>,
}

impl DurationSummary {
    /// The summary of several operations together.
    pub fn of<'a>(operations: impl Iterator<Item = &'a OperationStats>) -> Self {
        let (mut errors, mut durations) = (0, None::<HistogramSnapshot>);
        for (error_type, histogram) in operations.flat_map(OperationStats::snapshot) {
            if error_type.is_some_and(|error_type| error_type != "cancelled") {
                errors += histogram.count();
            }
            durations = Some(durations.map_or(histogram, |sum| sum.plus(&histogram)));
        }
        let Some(durations) = durations else { return DurationSummary::default() };
        let milliseconds = |share| durations.quantile(share).map(|seconds| (seconds * 100_000.0).round() / 100.0);
        DurationSummary { calls: durations.count(), errors, p50_ms: milliseconds(0.5), p95_ms: milliseconds(0.95) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn calls_of_several_operations_are_summed_up() {
        let (one, other) = (OperationStats::default(), OperationStats::default());
        for _ in 0..90 {
            one.record(Duration::from_millis(1), None);
        }
        for error_type in ["timeout", "cancelled"] {
            other.record(Duration::from_millis(400), Some(error_type.into()));
        }
        let summary = DurationSummary::of([&one, &other].into_iter());
        assert_eq!((summary.calls, summary.errors), (92, 1));
        assert_eq!((summary.p50_ms, summary.p95_ms), (Some(5.11), Some(9.71)));
        assert_eq!(DurationSummary::of([&OperationStats::default()].into_iter()), DurationSummary::default());
    }
}
