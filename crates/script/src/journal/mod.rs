//! The journal of a request: durable execution for handlers that use elicitation.
//!
//! A handler that calls `elicit()` is stopped, and runs again from the start once the answer has arrived. Its earlier
//! effects must not happen twice, so every effect is recorded, and replayed from the record in the next run.
//!
//! - A [`Journal`] belongs to one request. It holds [`Record`](proxy_model::journal::Record)s in program order, with a separate list for
//!   each concurrent branch, so the order in which servers answer does not matter.
//! - A [`JournalCursor`] is the position of one branch in the journal. Each effect takes one [`Step`]: it is either new or
//!   known from an earlier run.
//! - A [`JournalSnapshot`](proxy_model::JournalSnapshot) is the journal of a stopped run with its open [`Question`](proxy_model::Question)s, as data that can be stored.

mod cursor;
mod shared;

pub(super) use cursor::Step;
pub use cursor::{JournalCursor, KnownAnswer};
pub use shared::Journal;
pub(super) use shared::MAX_JOURNAL;
