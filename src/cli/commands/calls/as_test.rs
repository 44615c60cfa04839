//! `proxy calls --as-test`: prints a recorded call as a test function.

use crate::cli::failure::CommandFailure;
use crate::cli::{output, query};
use proxy_base::control::Instance;

pub(super) fn run(running: &Instance, id: &str, show_secrets: bool) -> Result<(), CommandFailure> {
    output::text(&query::call_as_test(running, id, show_secrets)?);
    if !show_secrets && !output::is_quiet() {
        output::err("recognized personal data and secrets are hidden; `--show-secrets` shows them");
    }
    Ok(())
}
