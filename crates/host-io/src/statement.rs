//! A database statement of a script, for any kind of database.

use serde::Serialize;
use serde_json::Value;

/// Maximum size of a result in bytes.
const MAX_RESULT: usize = 16 << 20;

#[derive(Clone, Debug, Serialize)]
pub struct Statement {
    /// A path, or a connection string, which may contain a password and must not be shown.
    pub database: String,
    pub sql: String,
    /// A list, a dict for named parameters, or null.
    pub params: Value,
    pub wants: Wants,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wants {
    /// The rows.
    Rows,
    /// The number of affected rows.
    Count,
}

impl Statement {
    /// A statement of the proxy itself that returns rows.
    pub(super) fn built_in(database: &str, sql: &str, params: &[&str]) -> Self {
        let params = params.iter().map(|text| Value::from(*text)).collect();
        Statement { database: database.to_owned(), sql: sql.to_owned(), params, wants: Wants::Rows }
    }
}

/// Fails if a result exceeds the maximum size.
pub(super) fn check_size(bytes: usize) -> Result<(), String> {
    if bytes > MAX_RESULT {
        return Err(format!("the result is larger than {MAX_RESULT} bytes; use LIMIT to reduce it"));
    }
    Ok(())
}
