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
            // Nothing was started, and the finding before has the fix.
            _ if findings.has_broken_server(name) => {}
            "login" => {
                findings.broken_server(AREA, name, " asks for a log-in", format!("`proxy login {name}`"));
            }
            status => {
                let what = format!(" is {status}: {}", error_line(&server.error));
                findings.broken_server(AREA, name, &what, fix(name, &server.kind));
            }
        }
    }
    Ok(())
}

/// A fix for a server that was started or connected to, and still does not work.
fn fix(name: &str, kind: &str) -> String {
    match kind {
        "stdio" => "run its command in a terminal: what it prints there says why".to_owned(),
        "openapi" => format!("correct `openapi` of `{name}`, or ask whoever publishes the description"),
        _ => format!("correct `url` and `headers` of `{name}`, or ask whoever runs the server"),
    }
}
