//! Why the store did not do something.

use super::{MAX_JOURNAL, MAX_KEY, MAX_OWNER, MAX_VALUE};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("the store `{store}` does not answer: {reason}")]
    Unavailable { store: String, reason: String },
    #[error("the store `{store}` refused: {reason}")]
    Refused { store: String, reason: String },
    #[error("`{shown}` is no address of a store: {reason}")]
    Address { shown: String, reason: String },
    #[error("a key is empty")]
    EmptyKey,
    #[error("a key has {characters} characters, at most {MAX_KEY} are possible")]
    KeyTooLong { characters: usize },
    #[error("the value of `{key}` takes {bytes} bytes, at most {MAX_VALUE} are possible")]
    ValueTooLarge { key: String, bytes: usize },
    #[error("`{key}` does not fit: the values of one owner may take {} MiB together", MAX_OWNER >> 20)]
    OwnerFull { key: String },
    #[error("`{key}` is not a whole number of 64 bits, so nothing can be added to it")]
    NotAWholeNumber { key: String },
    #[error("`{key}` would leave the range of 64 bits")]
    OutOfRange { key: String },
    #[error("the journal of this call takes {bytes} bytes, at most {MAX_JOURNAL} are possible")]
    JournalTooLarge { bytes: usize },
    #[error("the store is full: {what} may take {limit} MiB together in memory")]
    Full { what: &'static str, limit: usize },
}
