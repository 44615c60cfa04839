//! SQLite for extensions: database files in their folders, one connection per call, on a blocking thread.

mod guard;
mod run;
mod values;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::{Folder, OpenPath, Statement, Wants};

/// A database without a file, for one call only.
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
    File(OpenPath),
}

/// Runs a statement, and returns its rows as a list of dicts, or the number of affected rows. A statement that returns
/// a number may create the file.
pub async fn perform(folder: &Folder, statement: &Statement) -> Result<Value, String> {
    let database = match (statement.database.as_str(), statement.wants) {
        (IN_MEMORY, _) => Database::InMemory,
        (path, Wants::Rows) => Database::File(folder.open(path)?),
        (path, Wants::Count) => Database::File(folder.open_or_create(path)?),
    };
    if let Database::File(file) = &database
        && !file.metadata().is_ok_and(|metadata| metadata.is_file())
    {
        return Err(format!("`{}` is not a file", statement.database));
    }
    let stopped = InterruptOnDrop(Arc::default());
    let (statement, flag) = (statement.clone(), Arc::clone(&stopped.0));
    let work = tokio::task::spawn_blocking(move || run::run(&database, &statement, &flag));
    let result = work.await.map_err(|error| format!("the statement crashed: {error}"))?;
    drop(stopped);
    result
}

/// Interrupts the statement when the caller stops waiting.
struct InterruptOnDrop(Arc<AtomicBool>);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
