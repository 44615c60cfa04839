//! The position of one branch of a run in the journal.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Journal;
use super::shared::BranchIndex;
use proxy_json::Raw;
use proxy_model::Question;
use proxy_model::journal::{Fingerprint, Record, RecordedOutcome};

/// Clones share their position.
#[derive(Clone, Debug)]
pub struct JournalCursor(Arc<CursorState>);

#[derive(Debug)]
struct CursorState {
    journal: Arc<Journal>,
    /// The path from the outermost branch to this one.
    path: Vec<BranchIndex>,
    /// The index of the next record in the branch.
    next: AtomicUsize,
}

/// What the journal knows about the effect that a handler is about to perform.
#[derive(Debug)]
pub(crate) enum Step {
    /// No earlier run came to this effect: perform it.
    New,
    /// An earlier run finished this effect with this outcome.
    Done(RecordedOutcome),
    /// An earlier run performed this effect, which has no result.
    Fired,
    /// An earlier run began this effect. Each cursor replays one of its branches; `index` is the record to finish.
    Unfinished { index: usize, cursors: Vec<JournalCursor> },
    /// The effect is new, but other branches have not yet replayed all their records.
    OthersReplaying,
    /// An earlier run performed another effect here, of this kind.
    Diverged { recorded: String },
}

/// What the journal knows at a position about a question that the proxy itself asks there, not the script.
#[derive(Debug)]
pub enum KnownAnswer {
    /// No earlier run came here.
    Nothing,
    /// An earlier run came here, and went on without a question.
    Passed,
    /// The question is not answered yet.
    Open,
    Answered(RecordedOutcome),
}

impl JournalCursor {
    /// Looks up whether an earlier run asked a question of this kind here, and moves past it if it was answered.
    pub fn known_answer(&self, kind: &str) -> KnownAnswer {
        let mut state = self.0.journal.lock();
        let index = self.index();
        if state.full {
            return KnownAnswer::Nothing;
        }
        let known = match state.branch(&self.0.path).and_then(|branch| branch.get(index)) {
            None => return KnownAnswer::Nothing,
            Some(Record::Asked { kind: known, .. }) if known == kind => return KnownAnswer::Open,
            Some(Record::Done { kind: known, outcome, .. }) if known == kind => outcome.clone(),
            Some(_) => return KnownAnswer::Passed,
        };
        state.unreplayed = state.unreplayed.saturating_sub(1);
        self.advance();
        KnownAnswer::Answered(known)
    }

    /// Records a question that the proxy itself asks here. Returns false if the journal has become too large.
    pub fn ask(&self, kind: &'static str, question: Question) -> bool {
        self.record_question(kind, &[], question)
    }

    /// The beginning of a journal.
    pub fn first(journal: Journal) -> Self {
        JournalCursor::at(Arc::new(journal), Vec::new())
    }

    fn at(journal: Arc<Journal>, path: Vec<BranchIndex>) -> Self {
        JournalCursor(Arc::new(CursorState { journal, path, next: AtomicUsize::new(0) }))
    }

    pub fn journal(&self) -> &Journal {
        &self.0.journal
    }

    fn index(&self) -> usize {
        self.0.next.load(Ordering::Relaxed)
    }

    fn advance(&self) -> usize {
        self.0.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Looks the next effect of this branch up, and moves past it if it is known.
    pub(crate) fn step(&self, kind: &str, request: &[&str]) -> Step {
        let mut state = self.0.journal.lock();
        if state.full {
            return Step::New;
        }
        let index = self.index();
        let Some(record) = state.branch(&self.0.path).and_then(|branch| branch.get(index)) else {
            return if state.unreplayed > 0 { Step::OthersReplaying } else { Step::New };
        };
        let step = match record {
            Record::Done { kind: known, request: recorded, outcome } if known == kind && recorded.matches(request) => {
                Step::Done(outcome.clone())
            }
            Record::Fired { kind: known } if known == kind => Step::Fired,
            Record::Nested { kind: known, request: recorded, branches }
                if known == kind && recorded.matches(request) =>
            {
                Step::Unfinished { index, cursors: self.nested(index, branches.len()) }
            }
            other => return Step::Diverged { recorded: other.kind().to_owned() },
        };
        state.unreplayed = state.unreplayed.saturating_sub(1);
        self.advance();
        step
    }

    /// Cursors at the beginning of the branches of a record.
    fn nested(&self, record: usize, branches: usize) -> Vec<JournalCursor> {
        let cursor = |branch| {
            let mut path = self.0.path.clone();
            path.push(BranchIndex { record, branch });
            JournalCursor::at(Arc::clone(&self.0.journal), path)
        };
        (0..branches).map(cursor).collect()
    }

    fn push(&self, record: Record) -> usize {
        let index = self.advance();
        self.0.journal.lock().push(&self.0.path, record);
        index
    }

    /// Records the outcome of a new effect.
    pub(crate) fn record_done(&self, kind: &'static str, request: &[&str], outcome: Result<&Arc<Raw>, &str>) {
        self.push(Record::done(kind.into(), Fingerprint::of(request), outcome));
    }

    /// Records a new effect that has no result.
    pub(crate) fn record_fired(&self, kind: &'static str) {
        self.push(Record::Fired { kind: kind.into() });
    }

    /// Records the beginning of a new effect with this many branches. Returns the index to pass to
    /// [`JournalCursor::finish`], and a cursor for each branch.
    pub(crate) fn begin(&self, kind: &'static str, request: &[&str], branches: usize) -> (usize, Vec<JournalCursor>) {
        let empty = vec![Vec::new(); branches];
        let index = self.push(Record::Nested { kind: kind.into(), request: Fingerprint::of(request), branches: empty });
        (index, self.nested(index, branches))
    }

    /// Records the outcome of an effect that was begun. It replaces the nested records.
    pub(crate) fn finish(&self, index: usize, kind: &'static str, request: &[&str], outcome: Result<&Arc<Raw>, &str>) {
        let record = Record::done(kind.into(), Fingerprint::of(request), outcome);
        self.0.journal.lock().replace(&self.0.path, index, record);
    }

    /// Records a question without an answer. Returns false if the journal has become too large to be stored.
    pub(crate) fn record_question(&self, kind: &'static str, request: &[&str], question: Question) -> bool {
        self.push(Record::Asked { kind: kind.into(), request: Fingerprint::of(request), question });
        !self.0.journal.is_full()
    }

    /// Whether this branch has replayed all its records.
    pub(crate) fn is_replayed(&self) -> bool {
        let index = self.index();
        self.0.journal.lock().branch(&self.0.path).is_none_or(|branch| branch.len() <= index)
    }
}
