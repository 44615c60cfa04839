//! Opens connections: starts or reaches a server, negotiates the protocol revision, lists items and sends calls in the
//! form that revision requires. Uses `call` and `transport` of the other modules of this crate.

mod api;
mod api_tools;
mod audience;
mod cache;
mod cannot_start;
mod connector;
mod continued;
mod current_lock;
mod credentials_source;
mod environment;
mod era_flapping;
mod established;
mod found_command;
mod handshake;
mod holder;
mod listen;
mod list_reports;
mod listing;
mod params;
mod question_gate;
mod session_first;
mod start_slots;
mod start_work;
mod stateless_only;

pub use audience::{Audience, SoleClient};
pub use cache::Cache;
pub(super) use cache::CachedServer;
pub(super) use connector::{ConnectError, ConnectionPurpose, Connector};
pub use credentials_source::CredentialsSource;
pub use current_lock::CurrentLock;
pub use environment::{Environment, StartPolicy};
pub(super) use established::{CallLimits, Connection, ConnectionFailure, Received};
pub(super) use handshake::{Leg, ServerMemory};
pub use holder::{
    ConnectionHolders, HeldConnection, NotHeld, OwnConnection, ServerSession, SessionIdText, SharedHolders,
};
pub(super) use listing::{ServerListing, list};
pub use question_gate::{QuestionGate, QuestionGuard};
pub(super) use start_slots::StartSlot;
pub use start_slots::StartSlots;
