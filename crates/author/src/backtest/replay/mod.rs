//! Runs recorded calls through a session script: the surface, `on_request`, the checks and the handlers are real, the servers,
//! the users and the clock are those of the recording.

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
