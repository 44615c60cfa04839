//! What descriptions of APIs say. They are read without starting anything.

use proxy_base::diagnostic::Diagnostic;
use proxy_config::{Config, ServerConfig};
use proxy_mcp_client::read_description;

/// Notes and warnings about each API whose description is a file, and an error if the description cannot be used.
pub(super) fn remarks(config: &Config) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (name, server) in config.servers.iter().filter(|(_, server)| !server.disabled) {
        match read_description(server) {
            None => {}
            Some(Ok(facts)) => {
                let host = facts.default_host.map(|host| Diagnostic::remark(format!("server `{name}`: {host}")));
                found.extend(host.map(|host| placed(host, server)));
                // As the list of a server that runs says it.
                found.extend(facts.warnings.iter().map(|text| Diagnostic::warning(format!("server `{name}`: {text}"))));
            }
            Some(Err(problem)) => {
                found.push(placed(Diagnostic::error(format!("server `{name}`: {problem}")), server));
            }
        }
    }
    found
}

fn placed(diagnostic: Diagnostic, server: &ServerConfig) -> Diagnostic {
    match &server.place {
        Some(place) => diagnostic.at(place.clone()),
        None => diagnostic,
    }
}
