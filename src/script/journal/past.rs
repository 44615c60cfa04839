//! The journal of a run that was stopped: plain data that can be kept, with questions to be answered in it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Question;
use super::record::{Kept, Record, size};
use crate::json::Raw;

#[derive(Clone, Default, Serialize, Deserialize)]
pub struct JournalSnapshot {
    pub(super) records: Vec<Record>,
}

impl JournalSnapshot {
    /// What is asked, each question under a key that says where in the program it is asked.
    pub fn questions(&self) -> Vec<(String, &Question)> {
        let mut found = Vec::new();
        search(&self.records, "question", &mut found);
        found
    }

    /// Puts an answer in the place of its question; whether there is such a question.
    pub fn answer(&mut self, key: &str, answer: Raw) -> bool {
        let Some(record) = find(&mut self.records, "question", key) else { return false };
        if let Record::Asked { kind, request, .. } = record {
            let outcome = Ok(Kept(std::sync::Arc::new(answer)));
            *record = Record::Done { kind: std::mem::take(kind), request: request.clone(), outcome };
        }
        true
    }

    /// Counts that a question came back without an answer; how often it has.
    pub fn remind(&mut self, key: &str) -> u32 {
        match find(&mut self.records, "question", key) {
            Some(Record::Asked { question, .. }) => {
                question.reminders += 1;
                question.reminders
            }
            _ => 0,
        }
    }

    /// About how much room it takes.
    pub fn bytes(&self) -> usize {
        size(&self.records)
    }

    /// As text; requests become digests.
    ///
    /// # Errors
    /// Never for what a journal holds; the signature is that of the encoder.
    pub fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }

    /// # Errors
    /// If it is not what [`JournalSnapshot::to_bytes`] made.
    pub fn from_bytes(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }
}

/// What scripts did and were told is theirs; not for logs.
impl fmt::Debug for JournalSnapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Past").field("records", &self.records.len()).finish_non_exhaustive()
    }
}

fn search<'a>(records: &'a [Record], place: &str, found: &mut Vec<(String, &'a Question)>) {
    for (index, record) in records.iter().enumerate() {
        match record {
            Record::Asked { question, .. } => found.push((format!("{place}-{index}"), question)),
            Record::Inner { lines, .. } => {
                for (number, line) in lines.iter().enumerate() {
                    search(line, &format!("{place}-{index}-{number}"), found);
                }
            }
            Record::Done { .. } | Record::Fired { .. } => {}
        }
    }
}

/// The question of that key.
fn find<'a>(records: &'a mut [Record], place: &str, key: &str) -> Option<&'a mut Record> {
    let rest = key.strip_prefix(place)?.strip_prefix('-')?;
    let index: usize = rest.split('-').next()?.parse().ok()?;
    let here = format!("{place}-{index}");
    match records.get_mut(index)? {
        record @ Record::Asked { .. } => (key == here).then_some(record),
        Record::Inner { lines, .. } => {
            let line: usize = key.strip_prefix(&here)?.strip_prefix('-')?.split('-').next()?.parse().ok()?;
            find(lines.get_mut(line)?, &format!("{here}-{line}"), key)
        }
        Record::Done { .. } | Record::Fired { .. } => None,
    }
}
