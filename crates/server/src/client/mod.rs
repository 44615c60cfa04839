//! A connected client: identity, capabilities, and the channels that carry notifications and questions to it. The MCP
//! methods in `methods/` use this data.

pub(crate) mod event_id;
pub(crate) mod list_changes;
pub(crate) mod resource_updates;
pub(crate) mod in_flight;
pub(crate) mod links;
pub(crate) mod log_level;
pub(crate) mod state;
pub(crate) mod sink;
pub(crate) mod peer;
pub(crate) mod question_channel;
pub(crate) mod pending_questions;
pub(crate) mod replay_budget;
pub(crate) mod session_id;
pub(crate) mod session_stream;
pub(crate) mod subscriptions;
pub(crate) mod task_ids;
