//! SQLite databases of extensions: files below their folders, one connection a call, on a thread that may block.

mod guard;
mod run;
mod values;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde_json::Value;

use super::Folder;

/// A database without a file, gone after the call.
const IN_MEMORY: &str = ":memory:";

/// What a script asks for.
#[derive(Clone, Debug, Serialize)]
pub struct Statement {
    pub path: String,
    pub sql: String,
    /// A list, a dict, or null.
    pub params: Value,
    pub wants: Wants,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wants {
    Rows,
    /// How many rows were affected. May make the file.
    Count,
}

impl Statement {
    pub fn list_tables(path: &str) -> Self {
        let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
        Statement { path: path.to_owned(), sql: sql.to_owned(), params: Value::Null, wants: Wants::Rows }
    }

    pub fn describe_table(path: &str, table: &str) -> Self {
        let sql = "SELECT cid, name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?)";
        let params = Value::Array(vec![table.into()]);
        Statement { path: path.to_owned(), sql: sql.to_owned(), params, wants: Wants::Rows }
    }
}

enum Database {
    InMemory,
    File(PathBuf),
}

/// Runs a statement; rows as a list of dicts, or a number.
pub async fn perform(folder: &Folder, statement: &Statement) -> Result<Value, String> {
    let database = match (statement.path.as_str(), statement.wants) {
        (IN_MEMORY, _) => Database::InMemory,
        (path, Wants::Rows) => Database::File(folder.existing(path)?),
        (path, Wants::Count) => Database::File(folder.to_write(path)?),
    };
    let stopped = Stopped(Arc::default());
    let (statement, flag) = (statement.clone(), Arc::clone(&stopped.0));
    let work = tokio::task::spawn_blocking(move || run::run(&database, &statement, &flag));
    let result = work.await.map_err(|error| format!("the statement broke down: {error}"))?;
    drop(stopped);
    result
}

/// Dropped when nobody waits any more: the statement then ends as soon as it looks.
struct Stopped(Arc<AtomicBool>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
