//! Restricts a statement to its own database and to a limited time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

/// Timeout of a statement.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Timeout for a lock that another connection holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Virtual machine instructions between two checks of the deadline.
const STEPS_PER_CHECK: i32 = 10_000;

pub(super) fn install(connection: &mut Connection, stopped: &Arc<AtomicBool>) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
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
            !["temp_store_directory", "data_store_directory"].iter().any(|name| pragma_name.eq_ignore_ascii_case(name))
        }
        AuthAction::Unknown { .. } => false,
        _ => true,
    };
    if allowed { Authorization::Allow } else { Authorization::Deny }
}
