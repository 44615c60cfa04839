//! What a user does with a proxy besides MCP: inspect what it publishes, search, call, run scripts. Commands do this in
//! their own process ([`Operator`]), or ask a running proxy over its control socket ([`ControlApi`]).

mod api;
mod diagnostics;
mod event_peer;
mod events;
mod exec;
mod find;
mod health;
mod live_events;
mod metrics;
mod operations_report;
mod operator;
mod operator_acts;
mod elicitations;
mod recorded_calls;
mod recording;
mod report;
mod routes;
mod script_report;
mod server_call;
mod watching;

pub use api::{ControlApi, LogsProvider, SOURCE_HEADER};
pub use diagnostics::DiagnosticsPort;
pub use events::{CallEvent, CallRequest, ExecRequest};
pub use find::{EmbeddingProgress, FindRequest, FoundTool, find, searchable};
pub use health::Health;
pub use live_events::LiveEvent;
pub use operator::{Operator, UseError};
pub use recorded_calls::{
    CallDetails, CallSummary, EventDetails, RefusalSummary, ServerCallDetails, ServerCallSummary, ShownText,
};
pub use report::{ReportedItem, SurfaceReport};
pub use server_call::{ServerCallOutcome, ServerCallRequest};
