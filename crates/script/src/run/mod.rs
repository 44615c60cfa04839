//! Running scripts: calls of functions, and what a run has around it (its [`context::Context`], limits, effects, concurrent
//! branches).

pub(super) mod branches;
pub(super) mod call_site;
mod call_timeout;
pub(super) mod context;
mod deadline;
pub(super) mod effects;
pub(super) mod evaluator;
pub(super) mod failure;
pub(super) mod function;
pub(super) mod meter;
pub(super) mod operators;
pub(super) mod time_limit;
