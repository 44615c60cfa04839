//! The servers we call: one supervised handle each. Either era becomes one internal call.

pub(crate) mod connection;
pub(crate) mod supervision;
pub(crate) mod call;
pub(crate) mod handle;
pub(crate) mod transport;

pub use call::backend_call::{Answer, Backend, Call, CallError};
pub use call::peer::{Peer, Question};
pub use connection::cache::Cache;
pub use handle::input_rounds::{asks_too_much, wants_more};
pub use handle::server_handle::Handle;
pub use handle::stop_on_drop::Held;
pub use handle::tasks::TASKS_EXTENSION;
pub use supervision::freshness::CacheHint;
pub use supervision::side_connections::ROOTS_CHANGED;
pub use supervision::supervisor::{Environment, idle_view, start};
pub use transport::subscriptions::{Follower, Listener, Subscription};
