//! The audit log: one JSON line for each call, each line bound to the one before it by a hash. One thread writes the file;
//! calls only hand their records over.

mod audit_log;
mod audited_call;
mod chain;
mod file;
mod key;
mod line;
mod server_question;
mod state;
mod verify;
mod writer;

pub use audit_log::AuditLog;
pub use key::AuditKey;
pub use line::{AccountEvent, AuditEntry, PublishedSurface, Redact};
pub use server_question::ServerQuestion;
pub use verify::{AuditFault, VerifiedLog, verify};
