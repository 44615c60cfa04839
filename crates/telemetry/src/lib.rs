//! What is counted and recorded of every request. Counting is always on, and a success costs a few atomics. A whole record is
//! made only for a reader (audit log, followers), a trace, or the log at level `debug`. It decides nothing about a request.

pub mod audit;
mod counted;
mod duration_summary;
mod histogram;
mod operations;
mod proxy_stats;
mod recording;
mod server_stats;
pub mod traces;

pub use counted::{CallReaderGuard, Telemetry};
pub use duration_summary::DurationSummary;
pub use histogram::{Histogram, HistogramSnapshot, OVERHEAD_BOUNDS, REQUEST_BOUNDS};
pub use operations::{OTHER, Operation, OperationStats};
pub use proxy_stats::{ProxyStats, QuestionAction, SessionTimer};
pub use recording::CallRecording;
pub use server_stats::{Counts, ServerStats};
