//! What the conversation of the caller has read, for the rules of `flow`.

use super::Stop;
use crate::journal::JournalCursor;
use proxy_json::RawRef;
use proxy_model::flow::{Labels, Reading};

/// The marks of the conversation that a request belongs to. All methods may block the calling fiber. An inner error is one
/// that the script can catch.
pub trait FlowControl: Send + Sync {
    fn reading(&self) -> Result<Result<Reading, String>, Stop>;

    /// Marks the conversation. `source` says what it has read. Called before the script gets it.
    fn mark(&self, labels: &Labels, source: &str) -> Result<Result<(), String>, Stop>;

    /// The labels of a tool that the script has made and that is found by search, for its use.
    fn labels_of_made(&self, name: &str, by_script: Option<&Labels>) -> Labels;

    /// Asks the rules, and possibly the person, about the use of an item that the script has made and labelled. A question
    /// is recorded at `cursor`.
    fn admit(
        &self,
        name: &str,
        labels: &Labels,
        arguments: &RawRef,
        cursor: Option<JournalCursor>,
    ) -> Result<Result<(), String>, Stop>;
}
