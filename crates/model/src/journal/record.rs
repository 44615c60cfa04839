//! One recorded effect of a handler.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Question;
use super::fingerprint::Fingerprint;
use proxy_json::Raw;

/// The recorded outcome of an effect. An error is one that the script can catch.
pub type RecordedOutcome = Result<RecordedResult, String>;

/// The result of an effect, shared by the journal and its readers.
#[derive(Clone, Debug)]
pub struct RecordedResult(pub Arc<Raw>);

impl Serialize for RecordedResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RecordedResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Raw::deserialize(deserializer).map(|raw| RecordedResult(Arc::new(raw)))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Record {
    /// An effect that has finished.
    Done { kind: Cow<'static, str>, request: Fingerprint, outcome: RecordedOutcome },
    /// An effect without a result, such as a line of the log.
    Fired { kind: Cow<'static, str> },
    /// An effect that has not finished and has records of its own: a nested call with one branch, or concurrent branches.
    Nested { kind: Cow<'static, str>, request: Fingerprint, branches: Vec<Vec<Record>> },
    /// A question without an answer.
    Asked { kind: Cow<'static, str>, request: Fingerprint, question: Question },
}

impl Record {
    pub fn done(kind: Cow<'static, str>, request: Fingerprint, outcome: Result<&Arc<Raw>, &str>) -> Self {
        let outcome = outcome.map(|result| RecordedResult(Arc::clone(result))).map_err(str::to_owned);
        Record::Done { kind, request, outcome }
    }

    pub fn kind(&self) -> &str {
        match self {
            Record::Done { kind, .. }
            | Record::Fired { kind }
            | Record::Nested { kind, .. }
            | Record::Asked { kind, .. } => kind,
        }
    }

    /// The approximate size in memory, without nested records.
    pub fn bytes(&self) -> usize {
        const OVERHEAD: usize = 64;
        OVERHEAD
            + match self {
                Record::Done { request, outcome: Ok(result), .. } => request.bytes() + result.0.get().len(),
                Record::Done { request, outcome: Err(text), .. } => request.bytes() + text.len(),
                Record::Fired { .. } => 0,
                Record::Nested { request, .. } => request.bytes(),
                Record::Asked { request, question, .. } => {
                    request.bytes() + question.message.len() + question.schema.get().len()
                }
            }
    }

    fn branches(&self) -> &[Vec<Record>] {
        match self {
            Record::Nested { branches, .. } => branches,
            _ => &[],
        }
    }
}

/// The number of records, nested ones included.
pub fn count(records: &[Record]) -> usize {
    records.iter().map(|record| 1 + record.branches().iter().map(|branch| count(branch)).sum::<usize>()).sum()
}

/// The approximate size of records in memory, nested ones included.
pub fn size(records: &[Record]) -> usize {
    records
        .iter()
        .map(|record| record.bytes() + record.branches().iter().map(|branch| size(branch)).sum::<usize>())
        .sum()
}
