//! The journal of one request while it is being handled.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::JournalSnapshot;
use super::line::Turn;
use super::record::{Record, count, size};

/// What one journal may take, in bytes.
pub(crate) const MAX_JOURNAL: usize = 8 << 20;

/// Shared by all lines of control of a request, which take turns on one thread.
#[derive(Debug, Default)]
pub struct Journal(Mutex<State>);

#[derive(Debug, Default)]
pub(super) struct State {
    records: Vec<Record>,
    /// Known from an earlier run and not come to in this one.
    pub(super) unreplayed: usize,
    bytes: usize,
    /// More was done than can be kept: nothing is any more, and nobody can be asked.
    pub(super) full: bool,
}

impl Journal {
    /// Of a request that goes on after an earlier run.
    pub fn of(past: JournalSnapshot) -> Self {
        let (unreplayed, bytes) = (count(&past.records), size(&past.records));
        Journal(Mutex::new(State { records: past.records, unreplayed, bytes, full: false }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether everything that is known from an earlier run has been come to in this one.
    pub fn is_replayed(&self) -> bool {
        self.lock().unreplayed == 0
    }

    /// Whether too much was done to be kept.
    pub fn is_full(&self) -> bool {
        self.lock().full
    }

    /// What was written, for a later run.
    pub fn into_past(&self) -> JournalSnapshot {
        JournalSnapshot { records: std::mem::take(&mut self.lock().records) }
    }
}

impl State {
    /// The records of one line of control.
    pub(super) fn line(&mut self, path: &[Turn]) -> Option<&mut Vec<Record>> {
        let mut line = &mut self.records;
        for turn in path {
            match line.get_mut(turn.record)? {
                Record::Inner { lines, .. } => line = lines.get_mut(turn.line)?,
                _ => return None,
            }
        }
        Some(line)
    }

    pub(super) fn push(&mut self, path: &[Turn], record: Record) {
        if self.full {
            return;
        }
        self.bytes += record.bytes();
        if self.bytes > MAX_JOURNAL {
            (self.full, self.records) = (true, Vec::new());
        } else if let Some(line) = self.line(path) {
            line.push(record);
        }
    }

    /// Puts a record in the place of another one, and of what was inside of it.
    pub(super) fn replace(&mut self, path: &[Turn], at: usize, record: Record) {
        let Some(old) = self.line(path).and_then(|line| line.get_mut(at)) else { return };
        let old = std::mem::replace(old, record);
        let added = self.line(path).and_then(|line| line.get(at)).map_or(0, Record::bytes);
        self.bytes = (self.bytes + added).saturating_sub(size(std::slice::from_ref(&old)));
        if self.bytes > MAX_JOURNAL {
            (self.full, self.records) = (true, Vec::new());
        }
    }
}
