//! The journal of a handler as data that can be stored: its steps so far, and the open elicitations.

mod fingerprint;
mod question;
mod record;
mod snapshot;

pub use fingerprint::Fingerprint;
pub use question::{Question, QuestionKind};
pub use record::{Record, RecordedOutcome, RecordedResult, count, size};
pub use snapshot::JournalSnapshot;
