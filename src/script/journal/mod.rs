//! What a handler has done so far. A handler that asks a person something is stopped, and run again from its top when
//! the answer is there; what it did before must not happen a second time, so it is written down and told again.
//!
//! - A [`Journal`] belongs to one request and holds [`Record`]s in the order of the program: every line of control has
//!   its own, so the order in which answers of servers arrive does not matter.
//! - A [`JournalCursor`] is where one line of control stands in it: each effect takes one step, which is either known from before
//!   or new.
//! - A [`JournalSnapshot`] is the journal of a run that was stopped, with its open [`Question`]s: plain data that can be kept.

mod fingerprint;
mod line;
mod past;
mod question;
mod record;
mod state;

pub use line::JournalCursor;
pub(super) use line::Step;
pub use past::JournalSnapshot;
pub use question::Question;
pub use state::Journal;
pub(super) use state::MAX_JOURNAL;
