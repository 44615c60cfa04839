//! Runs one statement on a new connection.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde_json::{Map, Value};

use super::{Database, Statement, Wants, guard, values};
use crate::statement::check_size;

/// The error for a query that would change the database.
const WRITES: &str = "`sqlite.query` only reads, and this statement writes; use `sqlite.execute` for it";

pub(super) fn run(database: &Database, statement: &Statement, stopped: &Arc<AtomicBool>) -> Result<Value, String> {
    let mut connection = open(database, statement)?;
    guard::install(&mut connection, stopped).map_err(|error| reason(&error))?;
    let mut prepared = connection.prepare(&statement.sql).map_err(|error| reason(&error))?;
    if statement.wants == Wants::Rows && !prepared.readonly() {
        return Err(WRITES.to_owned());
    }
    values::bind(&mut prepared, &statement.params)?;
    match statement.wants {
        Wants::Rows => rows(&mut prepared),
        Wants::Count => count(&mut prepared),
    }
}

fn open(database: &Database, statement: &Statement) -> Result<Connection, String> {
    let file = match database {
        Database::InMemory => return Connection::open_in_memory().map_err(|error| reason(&error)),
        Database::File(file) => file,
    };
    // No SQLITE_OPEN_URI: the string is a plain path. NOFOLLOW, because links have been resolved before the check.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    // SQLite takes names only, so the name has to lead to the file that was checked, before and after.
    let exchanged = || format!("`{}` was replaced by another file", statement.database);
    if !file.is_still_there() {
        return Err(exchanged());
    }
    let connection = Connection::open_with_flags(file.path(), flags).map_err(|error| reason(&error))?;
    if file.is_still_there() { Ok(connection) } else { Err(exchanged()) }
}

fn rows(prepared: &mut rusqlite::Statement<'_>) -> Result<Value, String> {
    let names: Vec<String> = prepared.column_names().map(str::to_owned).collect();
    let mut found = Vec::new();
    let mut size = 0;
    let mut rows = prepared.raw_query();
    while let Some(row) = rows.next().map_err(|error| reason(&error))? {
        let mut members = Map::new();
        for (index, name) in names.iter().enumerate() {
            let (value, bytes) = values::to_json(row.get_ref(index).map_err(|error| reason(&error))?);
            size += bytes + name.len();
            check_size(size)?;
            members.insert(name.clone(), value);
        }
        found.push(Value::Object(members));
    }
    Ok(Value::Array(found))
}

fn count(prepared: &mut rusqlite::Statement<'_>) -> Result<Value, String> {
    if prepared.column_count() > 0 {
        // A statement with result rows, such as `INSERT ... RETURNING`: count them.
        return rows(prepared).map(|rows| rows.as_array().map_or(0, Vec::len).into());
    }
    prepared.raw_execute().map(Value::from).map_err(|error| reason(&error))
}

/// The error message for the author of the statement.
fn reason(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => {
            format!("the statement was cancelled after {} s (timeout)", guard::TIME_LIMIT.as_secs())
        }
        Some(ErrorCode::AuthorizationForStatementDenied) => {
            "a statement must not leave its database: ATTACH, DETACH and load_extension() are not allowed".to_owned()
        }
        Some(ErrorCode::OutOfMemory) => {
            let limit = guard::MAX_MEMORY >> 20;
            format!(
                "SQLite: the statements of the proxy may use {limit} MiB of memory together; read fewer rows at a time"
            )
        }
        Some(ErrorCode::TooBig) => {
            let (value, statement) = (guard::MAX_VALUE >> 20, guard::MAX_SQL >> 20);
            let cure = "store a large value in parts, and pass values as `params`";
            format!("SQLite: {error}: a value may have {value} MiB and a statement {statement} MiB; {cure}")
        }
        _ => format!("SQLite: {error}"),
    }
}
