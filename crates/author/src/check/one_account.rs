//! Warns about log-ins that several people share without `shared: true` in the config.

use proxy_base::diagnostic::Diagnostic;
use proxy_config::{AuthConfig, Config};

/// A warning for each server with one log-in for all, if the proxy knows several people.
pub(super) fn warnings(config: &Config) -> Vec<Diagnostic> {
    let whom = match (config.auth.tokens.len(), config.auth.issuers.is_empty()) {
        (0 | 1, true) => return Vec::new(),
        (people, true) => format!("`auth.tokens` has {people}"),
        (_, false) => "`auth.issuers` admits several people".to_owned(),
    };
    let servers = config.servers.iter().filter(|(_, server)| !server.disabled);
    let shared =
        servers.filter(|(_, server)| matches!(&server.auth, Some(AuthConfig::OAuth(log_in)) if !log_in.shared && log_in.personal.is_none()));
    let warning = |(name, place)| {
        let message = format!("`mcpServers.{name}.auth`: all callers act as this account ({whom})");
        let warning = Diagnostic::warning(message).hint(
            "if this is intended, set `shared: true` in this `auth`; for an account of each person, set `per: person`",
        );
        match place {
            Some(place) => warning.at(place),
            None => warning,
        }
    };
    shared.map(|(name, server)| (name, server.auth_place.clone())).map(warning).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn found(server: &str, people: usize) -> Vec<String> {
        let tokens: Vec<String> =
            (0..people).map(|number| format!("{{token: 0123456789abcdef-{number}, sub: p{number}}}")).collect();
        let text = format!(
            "mcpServers:\n  a:\n    url: 'https://h/'\n    auth: {server}\nauth: {{tokens: [{}]}}\n",
            tokens.join(", ")
        );
        let (config, _) = proxy_config::load_text(Path::new("proxy.yaml"), &text, &|_| None).unwrap();
        warnings(&config).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn one_log_in_for_several_people_is_said_until_it_is_meant() {
        let warned = found("{type: oauth}", 2);
        assert_eq!(warned.len(), 1);
        assert!(warned[0].contains("all callers act as this account (`auth.tokens` has 2)"), "{warned:?}");
        assert!(warned[0].contains("proxy.yaml:4"), "{warned:?}");
        assert!(found("{type: oauth}", 1).is_empty(), "one person");
        assert!(found("{type: oauth, shared: true}", 2).is_empty());
        assert!(found("{type: oauth, per: person}", 2).is_empty(), "everybody their own");
        assert!(found("{type: clientCredentials, clientId: x, clientSecret: y}", 2).is_empty(), "the proxy itself");
    }
}
