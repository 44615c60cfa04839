//! Errors of scripts, from the built-in that raises one to the text that people read:
//!
//! - [`ScriptError`](script_error::ScriptError): a built-in or a check found something wrong. Raised into the script, which
//!   may catch it.
//! - [`Failed`](failure::Failed): the script called `fail()`. Raised into the script, which may catch it.
//! - [`Failure`](failure::Failure): the run has ended without a result. What the caller of a script gets.
//! - [`FailureKind`](failure::FailureKind): why it ended: an error, `fail()`, a limit, or a stop from outside.

pub(super) mod failure;
mod hints;
pub(super) mod report;
pub(super) mod script_error;
