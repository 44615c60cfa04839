//! The state that the audit log's writer and the calls share: how much is waiting, whether the log can be written, and
//! where it ends.

use proxy_model::operator_api::AuditStatus;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

/// Bytes of records that may wait for the writer.
const MAX_WAITING: usize = 64 << 20;

pub(super) struct AuditState {
    /// Whether calls are refused while the log cannot be written.
    required: bool,
    waiting: AtomicUsize,
    /// Records that did not fit, since the log has last said so.
    lost: AtomicU64,
    /// Why the log cannot be written. For clients: without paths.
    failure: Mutex<Option<String>>,
    end: Mutex<LogEnd>,
}

/// Where the log ends.
#[derive(Clone, Default)]
struct LogEnd {
    file: PathBuf,
    seq: u64,
    head: Option<String>,
}

impl AuditState {
    pub(super) fn new(required: bool, file: PathBuf) -> Self {
        AuditState {
            required,
            waiting: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            failure: Mutex::default(),
            end: Mutex::new(LogEnd { file, ..LogEnd::default() }),
        }
    }

    /// Reserves memory for a record. If there is none left, the record is lost.
    pub(super) fn admit(&self, bytes: usize) -> bool {
        if self.waiting.fetch_add(bytes, Relaxed) + bytes <= MAX_WAITING {
            return true;
        }
        self.waiting.fetch_sub(bytes, Relaxed);
        self.lost.fetch_add(1, Relaxed);
        if self.fail("more records are waiting than fit into memory") {
            tracing::error!("the audit log is not written fast enough: records are lost");
        }
        false
    }

    /// Gives back the room of records that were written.
    pub(super) fn release(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Relaxed);
    }

    /// Notes that the log cannot be written. Returns whether it could before.
    pub(super) fn fail(&self, why: &str) -> bool {
        self.failure.lock().replace(why.to_owned()).is_none()
    }

    pub(super) fn is_failing(&self) -> bool {
        self.failure.lock().is_some()
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    /// Notes that the log is written again.
    pub(super) fn recover(&self) {
        *self.failure.lock() = None;
    }

    /// The number of lost records that the log has not mentioned.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }

    /// The log has mentioned this many of the lost records.
    pub(super) fn mentioned(&self, lost: u64) {
        self.lost.fetch_sub(lost, Relaxed);
    }

    pub(super) fn set_end(&self, file: PathBuf, seq: u64, head: Option<&str>) {
        *self.end.lock() = LogEnd { file, seq, head: head.map(str::to_owned) };
    }

    /// The number of the last line.
    pub(super) fn seq(&self) -> u64 {
        self.end.lock().seq
    }

    /// Why calls are refused; `None` if they are not.
    pub(super) fn refusal(&self) -> Option<String> {
        let failure = if self.required { self.failure() } else { None };
        failure.map(|why| format!("the audit log cannot be written: {why}"))
    }

    pub(super) fn report(&self) -> AuditStatus {
        let end = self.end.lock().clone();
        AuditStatus {
            file: end.file.display().to_string(),
            seq: end.seq,
            head: end.head,
            error: self.failure(),
            lost: self.lost(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted_and_closes_the_gate_if_the_log_is_required() {
        for required in [true, false] {
            let state = AuditState::new(required, PathBuf::new());
            assert!(state.admit(MAX_WAITING) && state.refusal().is_none());
            assert!(!state.admit(1));
            assert_eq!((state.lost(), state.refusal().is_some()), (1, required));
            state.release(MAX_WAITING);
            assert!(state.admit(1));
            state.recover();
            assert_eq!(state.refusal(), None);
        }
    }
}
