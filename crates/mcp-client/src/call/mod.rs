//! The interface between the proxy and its backends: a call, its answer or error, and the peer it is made for.
//! Uses no other module of this crate.

mod attribution;
mod backend;
mod backend_call;
mod cache_hint;
mod cancellation;
mod error;
mod follower;
mod peer;
mod peer_layer;
mod per_person;
mod session_end;

pub use attribution::Attribution;
pub use backend::{Backend, ConnectedBackend, LocalBackend, MissingLists};
pub use backend_call::{Answer, BackendCall, TASKS_EXTENSION};
pub use cache_hint::CacheHint;
pub use cancellation::Cancellation;
pub(super) use error::SHUTTING_DOWN;
pub use error::{CallError, TimeLimit};
pub use follower::{Subscriber, Subscription, UpdateListener};
pub use peer::{Asker, Peer, Question};
pub use peer_layer::PeerLayer;
pub use per_person::{PerPersonBackend, PersonBackend};
pub use session_end::SessionEnd;
