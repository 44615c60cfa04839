//! The requests of clients, counted by method and published item.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use super::histogram::{Histogram, HistogramSnapshot, REQUEST_BOUNDS};

/// Stands for everything beyond the limit, and for names that only clients know.
pub const OTHER: &str = "_OTHER";

/// The maximum number of operations that are counted one by one.
const MAX_OPERATIONS: usize = 10_000;

/// What is counted together: a method of MCP, and the published item if it is about one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Operation {
    pub method: &'static str,
    /// The published name of a tool or prompt. Resources are counted together: their URIs may have no end.
    pub name: Option<Arc<str>>,
}

/// The counts of one operation.
#[derive(Debug)]
pub struct OperationStats {
    succeeded: Histogram,
    /// By `error.type`. Few entries, and each only after a failure.
    failed: Mutex<Vec<(Cow<'static, str>, Arc<Histogram>)>>,
    script_failures: AtomicU64,
}

impl Default for OperationStats {
    fn default() -> Self {
        OperationStats {
            succeeded: Histogram::new(&REQUEST_BOUNDS),
            failed: Mutex::default(),
            script_failures: AtomicU64::new(0),
        }
    }
}

impl OperationStats {
    pub fn record(&self, duration: Duration, error_type: Option<Cow<'static, str>>) {
        let Some(error_type) = error_type else { return self.succeeded.record(duration) };
        let mut failed = self.failed.lock();
        let known = failed.iter().find(|(known, _)| *known == error_type).map(|(_, histogram)| Arc::clone(histogram));
        let histogram = known.unwrap_or_else(|| {
            let histogram = Arc::new(Histogram::new(&REQUEST_BOUNDS));
            failed.push((error_type, Arc::clone(&histogram)));
            histogram
        });
        drop(failed);
        histogram.record(duration);
    }

    /// Counts an error of the script: a bug or a limit, not a `fail()`.
    pub fn script_failed(&self) {
        self.script_failures.fetch_add(1, Relaxed);
    }

    pub fn script_failures(&self) -> u64 {
        self.script_failures.load(Relaxed)
    }

    /// The histograms by `error.type`. That of the successes is left out while it is empty.
    pub fn snapshot(&self) -> Vec<(Option<Cow<'static, str>>, HistogramSnapshot)> {
        let succeeded = self.succeeded.snapshot();
        let failed = self.failed.lock();
        let failed = failed.iter().map(|(error_type, histogram)| (Some(error_type.clone()), histogram.snapshot()));
        let succeeded = (succeeded.count() > 0).then_some((None, succeeded));
        succeeded.into_iter().chain(failed).collect()
    }
}

/// The operations of one process. An operation is looked up once and then counted through its pointer.
#[derive(Debug, Default)]
pub(super) struct Operations(RwLock<HashMap<Operation, Arc<OperationStats>>>);

impl Operations {
    pub(super) fn of(&self, method: &'static str, name: Option<&str>) -> Arc<OperationStats> {
        let operation = Operation { method, name: name.map(Into::into) };
        if let Some(known) = self.0.read().get(&operation) {
            return Arc::clone(known);
        }
        let mut operations = self.0.write();
        if operations.len() >= MAX_OPERATIONS && !operations.contains_key(&operation) {
            let rest = Operation { name: operation.name.map(|_| OTHER.into()), ..operation };
            return Arc::clone(operations.entry(rest).or_default());
        }
        Arc::clone(operations.entry(operation).or_default())
    }

    /// All operations, sorted.
    pub(super) fn all(&self) -> Vec<(Operation, Arc<OperationStats>)> {
        let operations = self.0.read();
        let mut all: Vec<_> = operations.iter().map(|(name, stats)| (name.clone(), Arc::clone(stats))).collect();
        drop(operations);
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_limit_operations_are_counted_together() {
        let operations = Operations::default();
        for number in 0..MAX_OPERATIONS + 5 {
            operations.of("tools/call", Some(&number.to_string())).record(Duration::ZERO, None);
        }
        let all = operations.all();
        assert_eq!(all.len(), MAX_OPERATIONS + 1);
        let rest = all.iter().find(|(operation, _)| operation.name.as_deref() == Some(OTHER)).unwrap();
        assert_eq!(rest.1.snapshot()[0].1.count(), 5);
        // What was there before is counted as before.
        assert_eq!(operations.of("tools/call", Some("7")).snapshot()[0].1.count(), 1);
    }

    #[test]
    fn failures_are_counted_by_their_type() {
        let stats = OperationStats::default();
        for error_type in [None, Some("timeout"), Some("-32602"), Some("timeout")] {
            stats.record(Duration::ZERO, error_type.map(Into::into));
        }
        let counts: Vec<_> = stats.snapshot().into_iter().map(|(kind, counted)| (kind, counted.count())).collect();
        assert_eq!(counts, [(None, 1), (Some("timeout".into()), 2), (Some("-32602".into()), 1)]);
    }
}
