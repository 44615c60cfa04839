//! The rows of limits that the option `--client` names.

use std::sync::Arc;

use crate::cli::failure::CommandFailure;
use crate::cli::setup::LoadedConfig;
use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_dialects::Dialect;

/// The rows with this name; `all` stands for every row.
pub(super) fn rows(loaded: &LoadedConfig, client: Option<&str>) -> Result<Vec<Arc<Dialect>>, CommandFailure> {
    match client {
        None => Ok(Vec::new()),
        Some("all") => Ok(loaded.config.dialects.rows().to_vec()),
        Some(name) => Ok(vec![row(loaded, name)?]),
    }
}

/// The row with this name.
pub(super) fn row(loaded: &LoadedConfig, name: &str) -> Result<Arc<Dialect>, CommandFailure> {
    let dialects = &loaded.config.dialects;
    if let Some(row) = dialects.named(name) {
        return Ok(Arc::clone(row));
    }
    let names: Vec<&str> = dialects.rows().iter().map(|row| &*row.row).collect();
    let problem = Diagnostic::error(format!("there is no row `{name}` for clients"));
    Err(CommandFailure::config(vec![match nearest(name, names.iter().copied()) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None if names.is_empty() => problem.hint("`clients.dialects: off` in the config removes all rows"),
        None => problem.hint(format!("the rows are `{}`", names.join("`, `"))),
    }]))
}
