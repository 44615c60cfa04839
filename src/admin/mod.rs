//! What the user of a proxy does with it beside MCP: look at what it publishes, search, call, run scripts. Commands do it in
//! their own process ([`Operator`]), or ask a running proxy over its control socket ([`ControlApi`]).

mod api;
mod event_peer;
mod events;
mod exec;
mod find;
mod operator;
mod questions;
mod report;

pub use api::{ControlApi, LogsProvider};
pub use events::{CallEvent, CallRequest, ExecRequest};
pub use find::{FoundTool, find};
pub use operator::{Operator, UseError};
pub use report::{ReportedItem, SurfaceReport};
