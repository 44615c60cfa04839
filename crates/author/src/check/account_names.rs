//! Says how the tools of several accounts are named: servers of one URL have the same tools, and which of them are listed
//! depends on who has logged in.

use proxy_base::diagnostic::Diagnostic;
use proxy_config::{
    AuthConfig, Config, ConflictResolution, Naming, ServerConfig, SessionScript, namings, with_same_url,
};

/// A warning for each server whose tools may change their names with a log-in, and a remark about those that always have a
/// prefix. Only presets name by the section `aggregation`.
pub(super) fn findings(config: &Config) -> Vec<Diagnostic> {
    let is_preset = matches!(config.session, SessionScript::Preset { .. });
    if !is_preset || config.aggregation.conflict_resolution != ConflictResolution::Auto {
        return Vec::new();
    }
    prefixed(config).into_iter().chain(ambiguous(config)).collect()
}

/// What is said once of all servers with accounts of people that always have the prefix.
fn prefixed(config: &Config) -> Option<Diagnostic> {
    let namings = namings(&config.servers);
    let names: Vec<&str> =
        namings.iter().filter(|(_, naming)| **naming == Naming::Prefixed).map(|(name, _)| name.as_str()).collect();
    let first = names.first()?;
    let prefix = config.aggregation.prefix_format.replace("{workload}", first);
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let remark = Diagnostic::remark(format!(
        "every tool of {} has its server's prefix, such as `{prefix}`: no name depends on which accounts somebody has connected",
        quoted.join(", ")
    ));
    Some(remark.at_known(config.servers.get(*first).and_then(|server| server.auth_place.as_ref())))
}

/// The servers with one log-in for all that share their URL with an earlier one.
fn ambiguous(config: &Config) -> Vec<Diagnostic> {
    let servers = config.servers.iter().filter(|(_, server)| !server.disabled && is_shared_log_in(server));
    let warning = |(position, (name, server)): (usize, (&String, &ServerConfig))| {
        let earlier = with_same_url(&config.servers, name).into_iter().find(|other| {
            let known = config.servers.get_full(*other);
            known.is_some_and(|(index, _, server)| index < position && is_shared_log_in(server))
        })?;
        let text = format!(
            "`mcpServers.{name}` and `{earlier}` are two accounts at one URL: before both are logged in, a tool without a prefix \
             may be that of either"
        );
        let hint = "set `aggregation: {conflictResolution: prefix}`, so that each name says its account";
        Some(Diagnostic::warning(text).hint(hint).at_known(server.place.as_ref()))
    };
    let with_position = |(name, server)| (config.servers.get_index_of(name).unwrap_or_default(), (name, server));
    servers.map(with_position).filter_map(warning).collect()
}

/// Whether a server may wait for a log-in that all callers share.
fn is_shared_log_in(server: &ServerConfig) -> bool {
    matches!(&server.auth, Some(AuthConfig::OAuth(log_in)) if log_in.personal.is_none())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn found(text: &str) -> Vec<String> {
        let (config, _) = proxy_config::load_text(Path::new("proxy.yaml"), text, &|_| None).unwrap();
        findings(&config).iter().map(ToString::to_string).collect()
    }

    const SHARED: &str = "mcpServers:\n  work: {url: 'https://mail/mcp', auth: {type: oauth}}\n  \
                          home: {url: 'https://mail/mcp', auth: {type: oauth}}\n  other: {url: 'https://other/mcp', auth: {type: oauth}}\n";

    #[test]
    fn two_accounts_at_one_url_are_warned_about_until_every_name_has_its_prefix() {
        let told = found(SHARED);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("`mcpServers.home` and `work` are two accounts at one URL"), "{told:?}");
        assert!(found(&format!("{SHARED}aggregation: {{conflictResolution: prefix}}\n")).is_empty());
        assert!(found(&format!("{SHARED}sessionInit: {{script: 'passthrough()'}}\n")).is_empty());
    }

    #[test]
    fn several_servers_with_accounts_of_people_are_said_to_have_prefixes() {
        let personal = SHARED.replace("type: oauth", "type: oauth, per: person");
        let told = found(&personal);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].contains("every tool of `work`, `home`, `other` has its server's prefix, such as `work_`"),
            "{told:?}"
        );
    }
}
