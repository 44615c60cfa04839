//! The gateway's telemetry: gauges, and the audit log and traces if the config enables them.

mod audit;
mod gauges;
mod traces;

pub(super) use audit::audit_surface;
pub use gauges::{DefinitionTokens, Gauges, ProfileGauges, ServerGauges};
