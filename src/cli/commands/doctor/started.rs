//! What happens when each server is started once.

use super::findings::Findings;
use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, ServerArgs};
use crate::cli::setup::SourceArgs;
use proxy_model::error_line;

const AREA: &str = "servers";

pub(super) fn check(source: SourceArgs, findings: &mut Findings) -> Result<(), CommandFailure> {
    let loaded = source.load()?;
    let servers = ServerArgs { source, live: true };
    let states = query::server_states(&servers.query(&loaded, true))?;
    for server in states.iter().filter(|server| server.kind != "extension") {
        let name = &server.name;
        match server.status.as_str() {
            "ready" | "per person" | "disabled" => findings.ok(AREA, format!("`{name}` is {}", server.status)),
            "login" => findings.broken(AREA, format!("`{name}` asks for a log-in"), format!("`proxy login {name}`")),
            status => {
                let error = error_line(&server.error);
                let fix =
                    format!("`proxy list-servers --live` starts it again; `proxy logs {name}` shows what it wrote");
                findings.broken(AREA, format!("`{name}` is {status}: {error}"), fix);
            }
        }
    }
    Ok(())
}
