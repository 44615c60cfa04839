//! Runs recorded calls through a session script. The surface, `on_request`, the checks and the handlers are real; the
//! servers, users and clock come from the recording.

mod answers;
mod backend;
mod compare;
mod environment;
mod report;
mod requester;
mod run;
mod surfaces;

pub use compare::BacktestVerdict;
pub use report::{BacktestDifference, BacktestReport};
pub use run::backtest;
