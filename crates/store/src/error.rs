//! Errors of store operations.

use super::{MAX_JOURNAL, MAX_KEY, MAX_MARKS, MAX_OWNER, MAX_VALUE};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("store `{store}` is unavailable: {reason}")]
    Unavailable { store: String, reason: String },
    #[error("store `{store}` rejected the operation: {reason}")]
    Refused { store: String, reason: String },
    #[error("invalid store address `{shown}`: {reason}")]
    Address { shown: String, reason: String },
    #[error("the key is empty")]
    EmptyKey,
    #[error("the key is too long: {characters} characters (maximum {MAX_KEY})")]
    KeyTooLong { characters: usize },
    #[error("the value of `{key}` is too large: {bytes} bytes (maximum {MAX_VALUE})")]
    ValueTooLarge { key: String, bytes: usize },
    #[error("no space left for `{key}`: the values of one owner are limited to {} MiB in total", MAX_OWNER >> 20)]
    OwnerFull { key: String },
    #[error("cannot increment `{key}`: its value is not a 64-bit integer")]
    NotAWholeNumber { key: String },
    #[error("cannot increment `{key}`: the result exceeds the range of 64-bit integers")]
    OutOfRange { key: String },
    #[error("the journal of this call is too large: {bytes} bytes (maximum {MAX_JOURNAL})")]
    JournalTooLarge { bytes: usize },
    #[error("too many marks: one conversation can have {MAX_MARKS}")]
    TooManyMarks,
    #[error("the store is full: {what} are limited to {limit} MiB in memory")]
    Full { what: &'static str, limit: usize },
}
