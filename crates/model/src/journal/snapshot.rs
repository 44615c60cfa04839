//! The journal of a stopped run as data that can be stored, with open questions in it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Question;
use super::record::{Record, RecordedResult, size};
use proxy_json::Raw;

/// The prefix of every question's key.
const KEY: &str = "question";

#[derive(Clone, Default, Serialize, Deserialize)]
pub struct JournalSnapshot {
    pub records: Vec<Record>,
}

impl JournalSnapshot {
    /// The open questions. The key of a question is its position in the program.
    pub fn questions(&self) -> Vec<(String, &Question)> {
        let mut found = Vec::new();
        collect_questions(&self.records, KEY, &mut found);
        found
    }

    /// Replaces a question by its answer. Returns false if there is no such question.
    pub fn answer(&mut self, key: &str, answer: Raw) -> bool {
        let Some(record) = find_question(&mut self.records, KEY, key) else { return false };
        if let Record::Asked { kind, request, .. } = record {
            let outcome = Ok(RecordedResult(Arc::new(answer)));
            *record = Record::Done { kind: std::mem::take(kind), request: request.clone(), outcome };
        }
        true
    }

    /// Counts that a question came back without an answer. Returns how often it has.
    pub fn remind(&mut self, key: &str) -> u32 {
        match find_question(&mut self.records, KEY, key) {
            Some(Record::Asked { question, .. }) => {
                question.reminders += 1;
                question.reminders
            }
            _ => 0,
        }
    }

    /// The approximate size in memory.
    pub fn bytes(&self) -> usize {
        size(&self.records)
    }

    /// Serializes the journal. Requests become digests.
    ///
    /// # Errors
    /// Never for the contents of a journal; the signature is that of the encoder.
    pub fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }

    /// Reads what [`JournalSnapshot::to_bytes`] has written.
    ///
    /// # Errors
    /// If the bytes are not a serialized journal.
    pub fn from_bytes(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }
}

/// Leaves the records out: they hold data of scripts and of people, which must not reach a log.
impl fmt::Debug for JournalSnapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("JournalSnapshot").field("records", &self.records.len()).finish_non_exhaustive()
    }
}

fn collect_questions<'a>(records: &'a [Record], prefix: &str, found: &mut Vec<(String, &'a Question)>) {
    for (index, record) in records.iter().enumerate() {
        match record {
            Record::Asked { question, .. } => found.push((format!("{prefix}-{index}"), question)),
            Record::Nested { branches, .. } => {
                for (number, branch) in branches.iter().enumerate() {
                    collect_questions(branch, &format!("{prefix}-{index}-{number}"), found);
                }
            }
            Record::Done { .. } | Record::Fired { .. } => {}
        }
    }
}

/// The question with this key.
fn find_question<'a>(records: &'a mut [Record], prefix: &str, key: &str) -> Option<&'a mut Record> {
    let rest = key.strip_prefix(prefix)?.strip_prefix('-')?;
    let index: usize = rest.split('-').next()?.parse().ok()?;
    let here = format!("{prefix}-{index}");
    match records.get_mut(index)? {
        record @ Record::Asked { .. } => (key == here).then_some(record),
        Record::Nested { branches, .. } => {
            let branch: usize = key.strip_prefix(&here)?.strip_prefix('-')?.split('-').next()?.parse().ok()?;
            find_question(branches.get_mut(branch)?, &format!("{here}-{branch}"), key)
        }
        Record::Done { .. } | Record::Fired { .. } => None,
    }
}
