//! The sections of a config file: one file per top-level key, with its settings, defaults and checks; and
//! the values that several of them read.

pub(super) mod aggregation;
pub(super) mod audit;
pub(super) mod auth;
pub(super) mod cedar;
pub(super) mod clients;
pub(super) mod code_mode;
pub(super) mod embedding;
pub(super) mod flow;
pub(super) mod lock;
pub(super) mod oauth_values;
pub(super) mod optimizer;
pub(super) mod profiles;
pub(super) mod rate_limiting;
pub(super) mod results;
pub(super) mod serve;
pub(super) mod server;
pub(super) mod session_script;
pub(super) mod store;
pub(super) mod telemetry;
pub(super) mod url;
