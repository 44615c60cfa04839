//! Connects to the MCP servers behind the proxy. Each server has a supervisor that keeps it connected and a [`Handle`] for
//! calling it. Calls look the same for every protocol revision and transport. Nothing here knows about scripts or policies.
//!
//! The modules, lowest layer first; each uses only those before it.

mod call;
mod transport;
mod connection;
mod supervision;
mod handle;
mod per_person;
#[cfg(test)]
mod log_in_tests;

pub use call::{
    Answer, Asker, Attribution, Backend, BackendCall, CacheHint, CallError, Cancellation, ConnectedBackend,
    LocalBackend, MissingLists, Peer, PeerLayer, PerPersonBackend, PersonBackend, Question, SessionEnd, Subscriber,
    Subscription, TASKS_EXTENSION, TimeLimit, UpdateListener,
};
pub use connection::{
    Audience, Cache, ConnectionHolders, CredentialsSource, CurrentLock, Environment, HeldConnection, NotHeld,
    OwnConnection, QuestionGate, QuestionGuard, ServerSession, SessionIdText, SharedHolders, SoleClient, StartPolicy,
    StartSlots,
};
pub use handle::{Handle, ServerLoad, StopOnDrop, forbidden_input_request, start, wants_more};
pub use per_person::PerPersonServer;
pub use supervision::{ROOTS_CHANGED, Rest, RestartOutcome, idle_view};
pub use transport::{DescriptionFacts, Descriptions, RunningProcess, read_description};
