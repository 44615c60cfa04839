//! The rules of `flow`: what a conversation that has read labelled items may still send to servers. Asked at the dispatch
//! point for every request that carries words, and where an item is used that a script has made and labelled.
//!
//! - [`FlowCaller`] knows whose marks count and where they are stored.
//! - [`FlowGuard`] judges one call: it passes, a person has to agree, or it is stopped.
//! - [`Passage`] takes a call through the dispatch point: it asks the guard before, and stores the marks of the item before
//!   anything that the server says is passed on.
//! - [`GuardedQuestions`] judges the answers to what servers ask while no call runs.

mod between_calls;
mod caller;
mod decisions;
mod guard;
mod item;
mod marker;
mod passage;
mod peer;

pub use between_calls::{GuardedQuestions, RulesNow};
pub(super) use caller::FlowCaller;
pub use caller::ToldLabels;
pub(super) use guard::{FlowGuard, Verdict, is_accepted};
pub use item::FlowItem;
pub use passage::Passage;

/// The kind of the record of a flow question in a journal.
pub(super) const QUESTION: &str = "flow";
