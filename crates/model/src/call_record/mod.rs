//! The record of one request, shared by several readers: the audit log, `proxy calls`, traces.

mod event;
mod example;
mod outcome;
mod record;
mod refusal;
mod server_call;
mod trace_context;

pub use event::{RecordedEvent, RecordedEventKind};
pub use outcome::CallOutcome;
pub use record::{
    AnsweredQuestion, CallPeer, CallReader, CallRecord, CallSource, HandledCall, HandlerRecord, REPL, RecordedItem,
    RecordedResult, ReplayFacts,
};
pub use refusal::{CallRefusal, NOT_PUBLISHED, RefusalReason};
pub use server_call::{ServerAddress, ServerCallRecord};
pub use trace_context::{RequestTrace, SpanId, TraceContext, TraceId};
