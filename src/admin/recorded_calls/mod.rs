//! Recorded calls: recorded only while somebody follows them, and kept in memory for a few minutes afterwards.

mod call_details;
mod call_ring;
mod call_summary;
mod kept_call;
mod recorder;

pub use call_details::{CallDetails, EventDetails, ServerCallDetails, ShownText};
pub(super) use call_ring::FindError;
pub use call_summary::{CallSummary, RefusalSummary, ServerCallSummary};
pub(super) use kept_call::KeptCall;
pub(super) use recorder::{CallRecorder, Followed, Following};
