//! What a script asks of a database, whichever it is.

use serde::Serialize;
use serde_json::Value;

/// What a result may have.
const MAX_RESULT: usize = 16 << 20;

#[derive(Clone, Debug, Serialize)]
pub struct Statement {
    /// A path, or a connection string with its password: never shown, only compared.
    pub database: String,
    pub sql: String,
    /// A list, a dict where names can be given, or null.
    pub params: Value,
    pub wants: Wants,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wants {
    Rows,
    /// How many rows were affected.
    Count,
}

impl Statement {
    /// One of the proxy's own, for rows.
    pub(super) fn built_in(database: &str, sql: &str, params: &[&str]) -> Self {
        let params = params.iter().map(|text| Value::from(*text)).collect();
        Statement { database: database.to_owned(), sql: sql.to_owned(), params, wants: Wants::Rows }
    }
}

/// Whether a result of so many bytes is still one.
pub(super) fn check_size(bytes: usize) -> Result<(), String> {
    if bytes > MAX_RESULT {
        return Err(format!("the result has more than {MAX_RESULT} bytes; ask for less with LIMIT"));
    }
    Ok(())
}
