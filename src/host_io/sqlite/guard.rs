//! What a statement may do: all that stays within its own database, for a limited time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

/// How long a statement may compute.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(30);
/// How long it waits for others that hold the database.
const BUSY: Duration = Duration::from_secs(5);
/// Virtual machine instructions between two looks at the clock.
const STEPS: i32 = 10_000;

pub(super) fn install(connection: &mut Connection, stopped: &Arc<AtomicBool>) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.authorizer(Some(authorize))?;
    let (stopped, deadline) = (Arc::clone(stopped), Instant::now() + TIME_LIMIT);
    connection.progress_handler(STEPS, Some(move || stopped.load(Ordering::Relaxed) || Instant::now() >= deadline))
}

fn authorize(context: AuthContext<'_>) -> Authorization {
    let allowed = match context.action {
        // VACUUM attaches a nameless one of its own. One whose name is computed is unknown here, and so refused.
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
