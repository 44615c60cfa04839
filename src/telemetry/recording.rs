//! What is noted of a request while it runs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use super::counted::Telemetry;
use super::operations::OperationStats;
use crate::model::{CallOutcome, CallRefusal, RecordedItem, RefusalReason, ServerCallRecord};

/// A request that runs. The tasks and handlers that work for it note what they do.
pub struct CallRecording {
    telemetry: Arc<Telemetry>,
    began: Instant,
    /// The time in which servers were called, in nanoseconds.
    in_servers: AtomicU64,
    /// Where the request is counted; set if it is about a published item.
    stats: OnceLock<Arc<OperationStats>>,
    /// `None` if nobody reads records.
    details: Option<Box<Details>>,
}

/// What is noted only if somebody reads records.
pub struct Details {
    pub began: SystemTime,
    pub noted: Mutex<NotedDetails>,
}

#[derive(Clone, Debug, Default)]
pub struct NotedDetails {
    pub item: Option<RecordedItem>,
    pub policy: Option<Arc<str>>,
    pub refusal: Option<CallRefusal>,
    pub server_calls: Vec<ServerCallRecord>,
}

impl CallRecording {
    /// `detailed` even if nobody reads records: the log may want them.
    pub fn begin(telemetry: &Arc<Telemetry>, detailed: bool) -> Arc<Self> {
        let details = (detailed || telemetry.has_readers())
            .then(|| Box::new(Details { began: SystemTime::now(), noted: Mutex::default() }));
        Arc::new(CallRecording {
            telemetry: Arc::clone(telemetry),
            began: Instant::now(),
            in_servers: AtomicU64::new(0),
            stats: OnceLock::new(),
            details,
        })
    }

    pub fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    pub fn details(&self) -> Option<&Details> {
        self.details.as_deref()
    }

    /// The published item that the request is about.
    pub fn set_item(&self, stats: &Arc<OperationStats>) {
        let _ = self.stats.set(Arc::clone(stats));
    }

    /// Notes a call of a server.
    pub fn server_called(&self, duration: Duration, record: Option<ServerCallRecord>) {
        self.in_servers.fetch_add(nanoseconds(duration), Relaxed);
        if let (Some(details), Some(record)) = (&self.details, record) {
            details.noted.lock().server_calls.push(record);
        }
    }

    /// Notes that the proxy or its script refuses the request.
    pub fn refused(&self, reason: RefusalReason, at: impl FnOnce() -> Option<String>, why: &str) {
        self.telemetry.count_refusal(reason);
        if let Some(details) = &self.details {
            details.noted.lock().refusal = Some(CallRefusal { reason, at: at(), why: why.to_owned() });
        }
    }

    /// Notes an error of the script, which is not a refusal.
    pub fn script_failed(&self) {
        if let Some(stats) = self.stats.get() {
            stats.script_failed();
        }
    }

    /// Counts the request, which is over.
    pub fn end(&self, method: &'static str, outcome: &CallOutcome) -> Duration {
        let duration = self.began.elapsed();
        let in_servers = self.in_servers.load(Relaxed);
        if let Some(stats) = self.stats.get() {
            stats.record(duration, outcome.error_type());
            // A request that waited for a person says nothing about the proxy. Calls at the same time may add up to more
            // than the whole.
            self.telemetry.overhead.record(duration.saturating_sub(Duration::from_nanos(in_servers)));
        } else {
            self.telemetry.operation(method, None).record(duration, outcome.error_type());
        }
        duration
    }
}

impl std::fmt::Debug for CallRecording {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("CallRecording")
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
