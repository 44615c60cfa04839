//! `defaults`: the settings of every server that its entry does not set itself.

use indexmap::IndexMap;

use super::settings::{self, SettingsOf};
use super::transport::unreadable;
use super::{AuthConfig, ProtocolChoice, RestSettings, STATELESS_VERSION, ServerConfig, TransportConfig};
use crate::syntax::reader::ValueReader;
use proxy_model::Secret;

/// The keys that each server has for itself.
const OWN_KEYS: [&str; 9] = ["command", "args", "env", "cwd", "url", "headers", "type", "transport", "auth"];

#[derive(Clone, Debug)]
pub(crate) struct ServerDefaults {
    settings: ServerConfig,
    /// The variables of `envFile`.
    pub(super) env_file: IndexMap<String, Secret>,
}

impl Default for ServerDefaults {
    fn default() -> Self {
        ServerDefaults { settings: ServerConfig::new(unreadable()), env_file: IndexMap::new() }
    }
}

pub(crate) fn read_defaults(reader: &ValueReader) -> Option<ServerDefaults> {
    let mut fields = reader.fields()?;
    let mut defaults = ServerDefaults::default();
    let env_file = settings::read(&mut fields, &mut defaults.settings, SettingsOf::Defaults);
    defaults.env_file = env_file.unwrap_or_default();
    fields.refuse(&OWN_KEYS, "cannot be a default", "write it in the entry of each server");
    fields.finish();
    Some(defaults)
}

impl ServerDefaults {
    pub(super) fn is_disabled(&self) -> bool {
        self.settings.disabled
    }

    /// The settings of a server before its own are read. Defaults that do not apply to such a server are left out.
    pub(super) fn of(&self, transport: TransportConfig, auth: Option<AuthConfig>) -> ServerConfig {
        let mut server = ServerConfig { transport, auth, ..self.settings.clone() };
        if let TransportConfig::Http { sse, .. } = &server.transport {
            server.inherit_env.clear();
            if *sse && server.protocol == ProtocolChoice::Pinned(STATELESS_VERSION.to_owned()) {
                server.protocol = ProtocolChoice::Auto;
            }
        }
        if server.is_per_person() {
            server.required = false;
            server.rest = RestSettings::default();
        }
        server
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::{errors, loaded};

    #[test]
    fn an_entry_wins_over_the_defaults_key_by_key() {
        let config = loaded(
            "defaults: {startTimeout: 2m, timeout: 5m, circuitBreaker: {failures: 2, cooldown: 9s}, scope: session, maxPerUser: 3}\n\
             mcpServers:\n  a: {command: x}\n  b: {command: x, startTimeout: 5s, circuitBreaker: {failures: 7}, scope: shared}\n",
        );
        let (a, b) = (&config.servers["a"], &config.servers["b"]);
        assert_eq!((a.start_timeout, b.start_timeout), (Duration::from_secs(120), Duration::from_secs(5)));
        assert_eq!((a.timeout, b.timeout), (Duration::from_secs(300), Duration::from_secs(300)));
        assert_eq!((a.circuit_breaker.failures, b.circuit_breaker.failures), (2, 7));
        assert_eq!(b.circuit_breaker.cooldown, Duration::from_secs(9));
        assert_eq!((a.session_scoped, a.max_per_user, b.session_scoped), (true, 3, false));
    }

    #[test]
    fn defaults_that_only_some_servers_know_are_left_out_for_the_others() {
        let config = loaded(
            "defaults: {inheritEnv: [HTTP_*], required: true, protocol: 2026-07-28, maxPerUser: 3}\n\
             mcpServers:\n  a: {command: x}\n  b: {url: 'http://h/sse', type: sse}\n  \
             c: {url: 'http://h/mcp', required: false}\n",
        );
        let server = |name: &str| &config.servers[name];
        assert_eq!([server("a"), server("b")].map(|server| server.inherit_env.len()), [1, 0]);
        assert_eq!(server("b").protocol, ProtocolChoice::Auto);
        assert!(server("b").required && !server("c").required);
    }

    #[test]
    fn what_each_server_has_for_itself_cannot_be_a_default() {
        let found = errors("defaults:\n  command: x\n  auth: {type: oauth}\n  startTimout: 3s\n  grace: 5\n");
        assert_eq!(found[0], "2:3 `defaults.command` cannot be a default (write it in the entry of each server)");
        assert_eq!(found[1], "3:3 `defaults.auth` cannot be a default (write it in the entry of each server)");
        assert_eq!(found[2], "4:3 unknown key `defaults.startTimout` (did you mean `startTimeout`?)");
        assert!(found[3].contains("`defaults.grace`: expected a duration"), "{found:?}");
    }

    #[test]
    fn who_shares_a_connection_can_be_said_in_the_entry_against_the_defaults() {
        let config = loaded(
            "defaults: {capabilities: shared}\nmcpServers: {a: {command: x}, b: {command: x, scope: session}, \
             c: {command: x, capabilities: client}}\n",
        );
        let shares = |name: &str| config.servers[name].shares_capabilities;
        assert_eq!([shares("a"), shares("b"), shares("c")], [true, false, false]);
        let found = errors("mcpServers: {a: {command: x, scope: session, capabilities: shared}}");
        assert!(
            found[0].contains("`mcpServers.a.capabilities`: `shared` conflicts with `scope: session`"),
            "{found:?}"
        );
    }
}
