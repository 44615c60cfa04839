//! SQLite databases of extensions: files below their folders, one connection a call, on a thread that may block.

mod guard;
mod run;
mod values;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::{Folder, Statement, Wants};

/// A database without a file, gone after the call.
const IN_MEMORY: &str = ":memory:";

const TABLES: &str =
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
const COLUMNS: &str = "SELECT cid, name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?)";

pub fn list_tables(path: &str) -> Statement {
    Statement::built_in(path, TABLES, &[])
}

pub fn describe_table(path: &str, table: &str) -> Statement {
    Statement::built_in(path, COLUMNS, &[table])
}

enum Database {
    InMemory,
    File(PathBuf),
}

/// Runs a statement; rows as a list of dicts, or a number. One that only counts may make the file.
pub async fn perform(folder: &Folder, statement: &Statement) -> Result<Value, String> {
    let database = match (statement.database.as_str(), statement.wants) {
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
