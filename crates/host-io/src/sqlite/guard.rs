//! Restricts a statement to its own database, and to limited time and memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;

/// Timeout of a statement.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Timeout for a lock that another connection holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Virtual machine instructions between two checks of the deadline.
const STEPS_PER_CHECK: i32 = 10_000;

/// Bytes of memory that SQLite may use for all statements of the process together.
pub(super) const MAX_MEMORY: i64 = 256 << 20;
/// Bytes of a text, a blob or a row.
pub(super) const MAX_VALUE: i32 = 16 << 20;
/// Bytes of a statement.
pub(super) const MAX_SQL: i32 = 1 << 20;
/// Pragmas that concern more than their database: the whole process, or other folders.
const FORBIDDEN_PRAGMAS: [&str; 4] =
    ["temp_store_directory", "data_store_directory", "hard_heap_limit", "soft_heap_limit"];

pub(super) fn install(connection: &mut Connection, stopped: &Arc<AtomicBool>) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Before the authorizer, which refuses to change the limit of the memory.
    connection.pragma_update(None, "hard_heap_limit", MAX_MEMORY)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
    connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_SQL)?;
    connection.authorizer(Some(authorize))?;
    let (stopped, deadline) = (Arc::clone(stopped), Instant::now() + TIME_LIMIT);
    connection
        .progress_handler(STEPS_PER_CHECK, Some(move || stopped.load(Ordering::Relaxed) || Instant::now() >= deadline))
}

fn authorize(context: AuthContext<'_>) -> Authorization {
    let allowed = match context.action {
        // VACUUM attaches an unnamed database. An ATTACH with a computed name is not visible here and is denied.
        AuthAction::Attach { filename } => filename.is_empty(),
        AuthAction::Detach { database_name } => database_name == "vacuum_db",
        AuthAction::Function { function_name } => !function_name.eq_ignore_ascii_case("load_extension"),
        AuthAction::Pragma { pragma_name, .. } => {
            !FORBIDDEN_PRAGMAS.iter().any(|name| pragma_name.eq_ignore_ascii_case(name))
        }
        AuthAction::Unknown { .. } => false,
        _ => true,
    };
    if allowed { Authorization::Allow } else { Authorization::Deny }
}
