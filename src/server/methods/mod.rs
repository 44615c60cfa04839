//! One file per MCP method (or family of equal methods).

pub(crate) mod capabilities;
pub(crate) mod completion_complete;
pub(crate) mod vendor;
pub(crate) mod item;
pub(crate) mod subscriptions_listen;
pub(crate) mod list;
pub(crate) mod post_process;
pub(crate) mod tasks;
