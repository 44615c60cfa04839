//! Where one line of control stands in the journal.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::fingerprint::Fingerprint;
use super::record::{Kept, Outcome, Record};
use super::{Journal, Question};
use crate::json::Raw;

/// Cloning it gives another way to the same place.
#[derive(Clone, Debug)]
pub struct JournalCursor(Arc<Place>);

#[derive(Debug)]
struct Place {
    journal: Arc<Journal>,
    /// The way to this line from the first one.
    path: Vec<Turn>,
    /// The next record.
    next: AtomicUsize,
}

/// From a line into one inside of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) record: usize,
    pub(super) line: usize,
}

/// What the journal says to something that a handler is about to do.
#[derive(Debug)]
pub enum Step {
    /// It has not been done before.
    New,
    /// It was done before, and this came of it.
    Known(Outcome),
    /// It was said before, and had no result.
    Fired,
    /// It was begun before: inside of it these lines of control go on.
    Begun { at: usize, lines: Vec<JournalCursor> },
    /// It is new, but other lines of control have not come to all they did before.
    TooEarly,
    /// Something else was done here before.
    Different { before: String },
}

impl JournalCursor {
    /// The first line of a journal.
    pub fn first(journal: Journal) -> Self {
        JournalCursor(Arc::new(Place { journal: Arc::new(journal), path: Vec::new(), next: AtomicUsize::new(0) }))
    }

    pub fn journal(&self) -> &Journal {
        &self.0.journal
    }

    fn position(&self) -> usize {
        self.0.next.load(Ordering::Relaxed)
    }

    fn advance(&self) -> usize {
        self.0.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Comes to the next thing that is done on this line.
    pub fn step(&self, kind: &str, request: &[&str]) -> Step {
        let mut state = self.0.journal.lock();
        if state.full {
            return Step::New;
        }
        let at = self.position();
        let Some(record) = state.line(&self.0.path).and_then(|line| line.get(at)) else {
            return if state.unreplayed > 0 { Step::TooEarly } else { Step::New };
        };
        let step = match record {
            Record::Done { kind: known, request: before, outcome } if known == kind && before.is_of(request) => {
                Step::Known(outcome.clone())
            }
            Record::Fired { kind: known } if known == kind => Step::Fired,
            Record::Inner { kind: known, request: before, lines } if known == kind && before.is_of(request) => {
                Step::Begun { at, lines: self.inside(at, lines.len()) }
            }
            other => return Step::Different { before: other.kind().to_owned() },
        };
        state.unreplayed = state.unreplayed.saturating_sub(1);
        self.advance();
        step
    }

    fn inside(&self, at: usize, lines: usize) -> Vec<JournalCursor> {
        let line = |line| {
            let mut path = self.0.path.clone();
            path.push(Turn { record: at, line });
            JournalCursor(Arc::new(Place { journal: Arc::clone(&self.0.journal), path, next: AtomicUsize::new(0) }))
        };
        (0..lines).map(line).collect()
    }

    fn push(&self, record: Record) -> usize {
        let at = self.advance();
        self.0.journal.lock().push(&self.0.path, record);
        at
    }

    /// Writes down what came of something new.
    pub fn done(&self, kind: &'static str, request: &[&str], outcome: Result<&Arc<Raw>, &str>) {
        let outcome = outcome.map(|result| Kept(Arc::clone(result))).map_err(str::to_owned);
        self.push(Record::Done { kind: kind.into(), request: Fingerprint::of(request), outcome });
    }

    /// Writes down something new that has no result.
    pub fn told(&self, kind: &'static str) {
        self.push(Record::Fired { kind: kind.into() });
    }

    /// Writes down that something new begins, with so many lines of control inside of it.
    pub fn begin(&self, kind: &'static str, request: &[&str], lines: usize) -> (usize, Vec<JournalCursor>) {
        let inner = (0..lines).map(|_| Vec::new()).collect();
        let at = self.push(Record::Inner { kind: kind.into(), request: Fingerprint::of(request), lines: inner });
        (at, self.inside(at, lines))
    }

    /// Something that was begun has ended: what came of it takes the place of what was inside.
    pub fn end(&self, at: usize, kind: &'static str, request: &[&str], outcome: Result<&Arc<Raw>, &str>) {
        let outcome = outcome.map(|result| Kept(Arc::clone(result))).map_err(str::to_owned);
        let record = Record::Done { kind: kind.into(), request: Fingerprint::of(request), outcome };
        self.0.journal.lock().replace(&self.0.path, at, record);
    }

    /// Writes down a question that waits for its answer. Whether there is room for it.
    pub fn asked(&self, kind: &'static str, request: &[&str], question: Question) -> bool {
        self.push(Record::Asked { kind: kind.into(), request: Fingerprint::of(request), question });
        !self.0.journal.is_full()
    }

    /// Whether it has come to all that it did before.
    pub fn is_replayed(&self) -> bool {
        let at = self.position();
        self.0.journal.lock().line(&self.0.path).is_none_or(|line| line.len() <= at)
    }
}
