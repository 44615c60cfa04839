//! The journal of a handler as data that can be stored: what it has done so far, and the questions that are open.

mod fingerprint;
mod question;
mod record;
mod snapshot;

pub use fingerprint::Fingerprint;
pub use question::{Question, QuestionKind};
pub use record::{Record, RecordedOutcome, RecordedResult, count, size};
pub use snapshot::JournalSnapshot;
