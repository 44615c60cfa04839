//! Counts and records requests: metrics, call records, the audit log and traces. Counting is always on, and a successful
//! request costs a few atomic operations. A full record is made only for a reader (the audit log or a follower), a trace, or the
//! log at level `debug`. Telemetry refuses nothing itself; `engine` refuses calls while a required audit log cannot be
//! written.

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
