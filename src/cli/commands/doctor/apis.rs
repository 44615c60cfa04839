//! The descriptions of APIs that are files. Those at a URL are read when the servers start.

use super::findings::Findings;
use crate::cli::table;
use proxy_config::{Config, DescriptionPlace, ServerConfig, TransportConfig};
use proxy_mcp_client::read_description;

const AREA: &str = "apis";

pub(super) fn check(config: &Config, findings: &mut Findings) {
    let mut count = 0;
    for (name, server) in config.servers.iter().filter(|(_, server)| !server.disabled) {
        // Such as a variable that is not set, of which its path may be made.
        if findings.has_broken_server(name) {
            continue;
        }
        let Some(read) = read_description(server) else { continue };
        count += 1;
        match read {
            Err(problem) => findings.broken_server(AREA, name, &format!(": {problem}"), fix(server)),
            Ok(facts) if facts.warnings.is_empty() => {}
            Ok(facts) => {
                let remarks = table::count(facts.warnings.len(), "remark");
                findings.warning(AREA, format!("`{name}`: {remarks} on its description"), "`proxy check` shows them");
            }
        }
    }
    if count > 0 {
        findings.ok_unless_found(AREA, format!("{} read", table::count(count, "description")));
    }
}

fn fix(server: &ServerConfig) -> String {
    let TransportConfig::OpenApi(api) = &server.transport else { return String::new() };
    match &api.description {
        DescriptionPlace::File(file) if !file.is_file() => {
            "save the description there, or correct the path in `openapi`".to_owned()
        }
        _ => "correct the description, or get another version from whoever runs the API".to_owned(),
    }
}
