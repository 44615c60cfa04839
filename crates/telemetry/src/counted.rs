//! All counters of one process, and the readers of its records.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;

use super::audit::AuditLog;
use super::histogram::{Histogram, HistogramSnapshot, OVERHEAD_BOUNDS};
use super::operations::{Operation, OperationStats, Operations};
use super::proxy_stats::ProxyStats;
use super::server_stats::{ServerStats, StatsByServer};
use super::traces::Tracer;
use proxy_model::{CallReader, CallRecord, RefusalReason};

/// The counters of one process, and the readers of its records. Survives reloads.
pub struct Telemetry {
    operations: Operations,
    servers: StatsByServer,
    proxy: Arc<ProxyStats>,
    /// The time of calls that was not spent in servers.
    pub(super) overhead: Histogram,
    refused: [AtomicU64; RefusalReason::ALL.len()],
    has_readers: AtomicBool,
    readers: RwLock<Vec<Arc<dyn CallReader>>>,
    audit: OnceLock<Arc<AuditLog>>,
    tracer: OnceLock<Arc<Tracer>>,
}

impl Default for Telemetry {
    fn default() -> Self {
        Telemetry {
            operations: Operations::default(),
            servers: StatsByServer::default(),
            proxy: Arc::default(),
            overhead: Histogram::new(&OVERHEAD_BOUNDS),
            refused: Default::default(),
            has_readers: AtomicBool::new(false),
            readers: RwLock::default(),
            audit: OnceLock::new(),
            tracer: OnceLock::new(),
        }
    }
}

impl Telemetry {
    /// The counts of a method, or of a published item under it.
    pub fn operation(&self, method: &'static str, name: Option<&str>) -> Arc<OperationStats> {
        self.operations.of(method, name)
    }

    /// All operations that happened, sorted.
    pub fn operations(&self) -> Vec<(Operation, Arc<OperationStats>)> {
        self.operations.all()
    }

    /// The counts of a server.
    pub fn server(&self, name: &Arc<str>) -> Arc<ServerStats> {
        self.servers.of(name)
    }

    /// The counters that do not belong to requests.
    pub fn proxy(&self) -> &Arc<ProxyStats> {
        &self.proxy
    }

    pub fn overhead(&self) -> HistogramSnapshot {
        self.overhead.snapshot()
    }

    pub fn count_refusal(&self, reason: RefusalReason) {
        self.refused[reason as usize].fetch_add(1, Relaxed);
    }

    pub fn refused(&self) -> [(RefusalReason, u64); RefusalReason::ALL.len()] {
        RefusalReason::ALL.map(|reason| (reason, self.refused[reason as usize].load(Relaxed)))
    }

    /// Whether somebody reads records. Off is one relaxed load.
    pub fn has_readers(&self) -> bool {
        self.has_readers.load(Relaxed)
    }

    /// Hands records to a reader until the guard is dropped.
    pub fn add_reader(self: &Arc<Self>, reader: Arc<dyn CallReader>) -> CallReaderGuard {
        let mut readers = self.readers.write();
        readers.push(Arc::clone(&reader));
        self.has_readers.store(true, Relaxed);
        CallReaderGuard { telemetry: Arc::clone(self), reader }
    }

    /// Writes records to this audit log from now on. Only the first call has an effect.
    pub fn set_audit(&self, log: Arc<AuditLog>) {
        if self.audit.set(Arc::clone(&log)).is_ok() {
            let mut readers = self.readers.write();
            readers.push(log);
            self.has_readers.store(true, Relaxed);
        }
    }

    pub fn audit(&self) -> Option<&Arc<AuditLog>> {
        self.audit.get()
    }

    /// Traces requests from now on. Only the first call has an effect.
    pub fn set_tracer(&self, tracer: Arc<Tracer>) {
        let _ = self.tracer.set(tracer);
    }

    /// `None` if there are no traces.
    pub fn tracer(&self) -> Option<&Arc<Tracer>> {
        self.tracer.get()
    }

    /// Hands a record to all readers.
    pub fn read(&self, record: &Arc<CallRecord>) {
        for reader in self.readers.read().iter() {
            reader.read(record);
        }
        if let Some(tracer) = self.tracer() {
            tracer.read(record);
        }
    }
}

impl std::fmt::Debug for Telemetry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Telemetry")
    }
}

/// A reader that gets records for as long as this lives.
pub struct CallReaderGuard {
    telemetry: Arc<Telemetry>,
    reader: Arc<dyn CallReader>,
}

impl Drop for CallReaderGuard {
    fn drop(&mut self) {
        let mut readers = self.telemetry.readers.write();
        readers.retain(|reader| !Arc::ptr_eq(reader, &self.reader));
        self.telemetry.has_readers.store(!readers.is_empty(), Relaxed);
    }
}
