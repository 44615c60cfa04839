//! One thing that a handler did.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Question;
use super::fingerprint::Fingerprint;
use crate::json::Raw;

/// What came of an effect; an error is one that the script can catch.
pub(super) type Outcome = Result<Kept, String>;

/// A result, shared by the journal and whoever looks at it.
#[derive(Clone, Debug)]
pub struct Kept(pub Arc<Raw>);

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Raw::deserialize(deserializer).map(|raw| Kept(Arc::new(raw)))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Record {
    /// It has ended.
    Done { kind: Cow<'static, str>, request: Fingerprint, outcome: Outcome },
    /// It had no result.
    Fired { kind: Cow<'static, str> },
    /// It has lines of control of its own: a call that has not ended, or branches.
    Inner { kind: Cow<'static, str>, request: Fingerprint, lines: Vec<Vec<Record>> },
    /// A person was asked, and has not answered.
    Asked { kind: Cow<'static, str>, request: Fingerprint, question: Question },
}

impl Record {
    pub(super) fn kind(&self) -> &str {
        match self {
            Record::Done { kind, .. }
            | Record::Fired { kind }
            | Record::Inner { kind, .. }
            | Record::Asked { kind, .. } => kind,
        }
    }

    /// About how much room it takes, without what is inside of it.
    pub(super) fn bytes(&self) -> usize {
        const EACH: usize = 64;
        EACH + match self {
            Record::Done { request, outcome: Ok(result), .. } => request.len() + result.0.get().len(),
            Record::Done { request, outcome: Err(text), .. } => request.len() + text.len(),
            Record::Fired { .. } => 0,
            Record::Inner { request, .. } => request.len(),
            Record::Asked { request, question, .. } => {
                request.len() + question.message.len() + question.schema.get().len()
            }
        }
    }
}

/// How many records there are, at any depth.
pub(super) fn count(records: &[Record]) -> usize {
    records.iter().map(|record| 1 + inside(record).map(|line| count(line)).sum::<usize>()).sum()
}

/// How much room records take, at any depth.
pub(super) fn size(records: &[Record]) -> usize {
    records.iter().map(|record| record.bytes() + inside(record).map(|line| size(line)).sum::<usize>()).sum()
}

fn inside(record: &Record) -> impl Iterator<Item = &Vec<Record>> {
    let lines = match record {
        Record::Inner { lines, .. } => lines.as_slice(),
        _ => &[],
    };
    lines.iter()
}
