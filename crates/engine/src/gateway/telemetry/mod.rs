//! What the gateway tells about itself: its gauges, and the audit log and the traces that its config asks for.

mod audit;
mod gauges;
mod traces;

pub(super) use audit::audit_surface;
pub use gauges::{DefinitionTokens, Gauges, ServerGauges};
