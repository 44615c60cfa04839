//! What commands tell a running proxy about accounts of people, for its audit log.

use serde::{Deserialize, Serialize};

/// The body of `POST /accounts`: the operator has connected or disconnected a person's own account at a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccountChange {
    pub server: String,
    /// The name of the person, as scripts see it.
    pub user: String,
    /// The issuer of the person; empty for a user of a static token.
    #[serde(default)]
    pub issuer: String,
    pub event: AccountChangeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AccountChangeKind {
    Connected,
    Disconnected,
}

/// The answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccountChangeNoted {
    /// Whether the proxy has an audit log, which has the line now.
    pub audited: bool,
}
