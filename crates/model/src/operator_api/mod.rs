//! The bodies of the operator API: what a running proxy tells over its control socket, and what commands and the console read.
//! Members that are missing, as those of another version are, have their defaults.

mod server_status;
mod status;

pub use server_status::{CallCounts, ServerFailure, ServerProcess, ServerStatus};
pub use status::{
    AuditStatus, ClientStatus, IssuerStatus, ItemCounts, JailStatus, LastReload, LoggedLine, ProxyStatus,
    RestartReport, ServedSource, ServerLog, UserError,
};
