//! The servers we call: one supervised handle each. Either era becomes one internal call.

mod assemble;
mod cache;
mod call;
mod connection;
mod connector;
mod follow;
mod freshness;
mod handle;
mod handshake;
mod http_link;
mod http_listener;
mod inbound;
mod link;
mod listing;
mod long_line;
mod nested;
mod party;
mod pending;
mod rounds;
mod sides;
mod signals;
mod stdio_link;
mod subscriber;
mod subscriptions;
mod supervisor;
mod tasks;

pub use cache::Cache;
pub use call::{Answer, Backend, Call, CallError};
pub use freshness::Keeping;
pub use handle::Handle;
pub use party::{Party, Question};
pub use rounds::wants_more;
pub use subscriptions::{Follower, Listener, Subscription};
pub use supervisor::{Environment, idle_view, start};
pub use tasks::TASKS_EXTENSION;
