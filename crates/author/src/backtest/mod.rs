//! Recorded calls, and what another version of the session script does with them. No server is reached: the answers are the
//! recorded ones.

mod as_test;
mod recording;
mod replay;

pub use as_test::as_test;
pub use recording::{CallLine, CatalogLine, RecordingError, RecordingFile, RecordingLine, SingleRecording, StartLine};
pub use replay::{BacktestDifference, BacktestReport, BacktestVerdict, backtest};
