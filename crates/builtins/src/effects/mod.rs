//! Built-ins with effects: logging, waiting, asking the user, everything that uses the store, and handlers as values.
//!
//! A handler that asks the user runs again from its top, so each effect is recorded in the journal and replayed.

pub(super) mod backend_handler;
pub(super) mod cached;
pub(super) mod elicit;
pub(super) mod elicit_url;
pub(super) mod log;
pub(super) mod marks;
pub(super) mod notify;
pub(super) mod parallel;
pub(super) mod rate_limits;
mod result_cache;
pub(super) mod roots;
pub(super) mod state;
pub(super) mod store_access;
pub(super) mod wrapper;
