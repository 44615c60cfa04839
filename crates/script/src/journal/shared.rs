//! The journal of one request while the request is being handled.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use proxy_json::Raw;
use proxy_model::JournalSnapshot;
use proxy_model::journal::{Record, count, size};

/// The maximum size of a journal in bytes.
pub(crate) const MAX_JOURNAL: usize = 8 << 20;

/// Shared by all branches of a request. They run as fibers of one thread.
#[derive(Debug, Default)]
pub struct Journal(Mutex<JournalState>);

#[derive(Debug, Default)]
pub(super) struct JournalState {
    records: Vec<Record>,
    /// How many records of an earlier run have not been replayed in this one.
    pub(super) unreplayed: usize,
    bytes: usize,
    /// The journal has exceeded [`MAX_JOURNAL`]: it is empty, records nothing more, and no question can be asked.
    pub(super) full: bool,
    /// The answer to a question that is asked once in a call, with the name of its effect.
    answer: Option<(&'static str, Arc<Raw>)>,
}

/// One step of a path through the journal: from a branch into a branch of one of its records.
#[derive(Clone, Copy, Debug)]
pub(super) struct BranchIndex {
    pub(super) record: usize,
    pub(super) branch: usize,
}

impl Journal {
    /// The journal of a request that continues after an earlier run.
    pub fn of(snapshot: JournalSnapshot) -> Self {
        let (unreplayed, bytes) = (count(&snapshot.records), size(&snapshot.records));
        Journal(Mutex::new(JournalState { records: snapshot.records, unreplayed, bytes, ..JournalState::default() }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, JournalState> {
        self.0.lock()
    }

    /// Whether this run has replayed everything that earlier runs recorded.
    pub fn is_replayed(&self) -> bool {
        self.lock().unreplayed == 0
    }

    /// Whether more was recorded than can be stored.
    pub(super) fn is_full(&self) -> bool {
        self.lock().full
    }

    /// Remembers an answer for the rest of this run. The first one counts.
    pub(crate) fn remember_answer(&self, kind: &'static str, answer: &Arc<Raw>) {
        self.lock().answer.get_or_insert_with(|| (kind, Arc::clone(answer)));
    }

    /// The answer that this run has already got to a question that is asked once.
    pub(crate) fn remembered_answer(&self, kind: &'static str) -> Option<Arc<Raw>> {
        self.lock().answer.as_ref().filter(|(known, _)| *known == kind).map(|(_, answer)| Arc::clone(answer))
    }

    /// Takes the records out, for a later run.
    pub fn take_snapshot(&self) -> JournalSnapshot {
        JournalSnapshot { records: std::mem::take(&mut self.lock().records) }
    }
}

impl JournalState {
    /// The records of one branch.
    pub(super) fn branch(&mut self, path: &[BranchIndex]) -> Option<&mut Vec<Record>> {
        let mut branch = &mut self.records;
        for step in path {
            match branch.get_mut(step.record)? {
                Record::Nested { branches, .. } => branch = branches.get_mut(step.branch)?,
                _ => return None,
            }
        }
        Some(branch)
    }

    pub(super) fn push(&mut self, path: &[BranchIndex], record: Record) {
        if self.full {
            return;
        }
        self.bytes += record.bytes();
        if self.bytes > MAX_JOURNAL {
            (self.full, self.records) = (true, Vec::new());
        } else if let Some(branch) = self.branch(path) {
            branch.push(record);
        }
    }

    /// Replaces a record and everything nested in it.
    pub(super) fn replace(&mut self, path: &[BranchIndex], index: usize, record: Record) {
        let Some(old) = self.branch(path).and_then(|branch| branch.get_mut(index)) else { return };
        let old = std::mem::replace(old, record);
        let added = self.branch(path).and_then(|branch| branch.get(index)).map_or(0, Record::bytes);
        self.bytes = (self.bytes + added).saturating_sub(size(std::slice::from_ref(&old)));
        if self.bytes > MAX_JOURNAL {
            (self.full, self.records) = (true, Vec::new());
        }
    }
}
