//! The bodies of the operator API: what a running proxy sends over its control socket, and what commands and the console read.
//! Missing members, for example from another version, have their defaults.

mod accounts;
mod server_status;
mod sessions;
mod status;

pub use accounts::{AccountChange, AccountChangeKind, AccountChangeNoted};
pub use server_status::{CallCounts, LockStatus, RestStatus, ServerFailure, ServerProcess, ServerStatus};
pub use sessions::{EndedSessions, ReplicaList, ReplicaStatus, SessionEnd, SessionList, SessionStatus};
pub use status::{
    AuditStatus, ClientStatus, IssuerStatus, ItemCounts, JailStatus, LastReload, LoggedLine, ProfileStatus,
    ProxyStatus, RestartReport, RowStatus, ServedSource, ServerLog, ThreadStatus, UserError,
};
