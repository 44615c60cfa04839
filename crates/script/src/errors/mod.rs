//! Errors of scripts, from the built-in that raises one to the text that people read:
//!
//! - [`ScriptError`](script_error::ScriptError): a built-in or a check found something wrong. Raised into the script, which
//!   may catch it.
//! - [`Failed`](crate::run::failure::Failed): the script called `fail()`. Raised into the script, which may catch it.
//! - [`Failure`](crate::run::failure::Failure): the run has ended without a result. What the caller of a script gets.
//! - [`FailureKind`](crate::run::failure::FailureKind): why it ended: an error, `fail()`, a limit, or a stop from outside.

mod hints;
pub(super) mod report;
pub(super) mod script_error;
