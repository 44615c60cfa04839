//! Servers that wait for somebody to log in.

use super::findings::Findings;
use crate::cli::commands::login;
use crate::cli::failure::CommandFailure;
use crate::cli::setup::LoadedConfig;

const AREA: &str = "log-ins";

pub(super) fn check(loaded: &LoadedConfig, findings: &mut Findings) -> Result<(), CommandFailure> {
    let log_ins = login::waiting(loaded)?;
    for waiting in &log_ins.waiting {
        let why = if waiting.why.is_empty() { "somebody has to log in".to_owned() } else { waiting.why.clone() };
        let fix = match &waiting.person {
            Some(person) => format!("`proxy login {} --as-user {person}`", waiting.server),
            None => format!("`proxy login {}`", waiting.server),
        };
        findings.broken_server(AREA, &waiting.server, &format!(": {why}"), fix);
    }
    if log_ins.known > 0 {
        findings.ok_unless_found(AREA, "no server waits for a log-in");
    }
    Ok(())
}
