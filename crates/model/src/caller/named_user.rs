//! A user whom an operator names, to see and do what that user would.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedUser {
    /// As scripts see it: with the prefix of the issuer.
    pub sub: String,
    /// What the user's token would say.
    #[serde(default)]
    pub claims: Map<String, Value>,
}
