//! Backtests: replays recorded calls with another version of the session script. No server is contacted; servers'
//! results come from the recording.

mod as_test;
mod recording;
mod replay;

pub use as_test::as_test;
pub use recording::{CallLine, CatalogLine, RecordingError, RecordingFile, RecordingLine, SingleRecording, StartLine};
pub use replay::{BacktestDifference, BacktestReport, BacktestVerdict, backtest};
