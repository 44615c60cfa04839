//! The OAuth terms that the other modules use: servers, clients, grants.

mod authorization_server;
mod client;
mod grant;
pub(super) mod secret_fields;

use serde_json::Value;

pub(super) use authorization_server::AuthorizationServer;
pub(super) use client::{AuthMethod, Registration};
pub(crate) use grant::bearer;
pub(super) use grant::{Grant, renew_at};

/// The texts of a list in a document.
pub(super) fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    let values = value?.as_array()?;
    Some(values.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}
