//! What is counted and recorded of every request. Counting is always on and costs atomics only. A whole record is made
//! only while somebody reads records.

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
pub use histogram::{Histogram, HistogramSnapshot, OVERHEAD_BOUNDS, SECONDS_BOUNDS};
pub use operations::{OTHER, Operation, OperationStats};
pub use proxy_stats::{ProxyStats, QuestionAction, SessionTimer};
pub use recording::CallRecording;
pub use server_stats::{Counts, ServerStats};
