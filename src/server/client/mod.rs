//! A client: who it is, what it may be told and asked, and the ways to reach it. Data and channels; the methods act on it.

pub(crate) mod changes;
pub(crate) mod followed;
pub(crate) mod in_flight;
pub(crate) mod links;
pub(crate) mod log_level;
pub(crate) mod client;
pub(crate) mod sink;
pub(crate) mod peer;
pub(crate) mod question_channel;
pub(crate) mod questions;
pub(crate) mod replay;
pub(crate) mod stream;
pub(crate) mod subscriptions;
pub(crate) mod task_names;
