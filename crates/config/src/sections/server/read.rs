//! Reads the servers of a config: the transport and `auth` of each, and its settings.

use indexmap::IndexMap;

use super::auth::read_auth;
use super::defaults::ServerDefaults;
use super::settings::{self, SettingsOf};
use super::transport::{read_transport, unreadable};
use super::{ServerConfig, TransportConfig, name_problem, written_identity};
use crate::syntax::reader::ValueReader;

pub(crate) fn read_servers(reader: &ValueReader, defaults: &ServerDefaults) -> Option<IndexMap<String, ServerConfig>> {
    let servers = reader.map(|name, server| {
        if let Some(problem) = name_problem(name) {
            server.report(server.problem(&problem).at(server.place()));
        }
        // A server with errors keeps its name, so that references to it cause no further errors.
        let is_disabled = server.says("disabled").unwrap_or(defaults.is_disabled());
        let (read, sources) =
            server.taking_sources(is_disabled, || server.taking_unset(|| read_server(server, defaults)));
        let unset = read.1;
        let mut read = read.0.unwrap_or_else(|| ServerConfig::new(unreadable()));
        read.late_values = sources.late;
        read.unread = sources.unread;
        match read.required {
            // Without it the proxy does not start anyway.
            true => unset.into_iter().for_each(|problem| server.report(problem)),
            false => read.unset_variables = unset,
        }
        Some(read)
    });
    servers.map(|servers| servers.into_iter().collect())
}

fn read_server(reader: &ValueReader, defaults: &ServerDefaults) -> Option<ServerConfig> {
    let mut fields = reader.fields()?;
    let transport = read_transport(&mut fields, reader).unwrap_or_else(unreadable);
    let (auth, auth_place) = read_auth(&mut fields, &transport).unzip();
    let identity = written_identity(reader);
    let place = Some(reader.place());
    let mut server = ServerConfig { auth_place, place, identity, ..defaults.of(transport, auth) };
    let env_file = settings::read(&mut fields, &mut server, SettingsOf::Entry);
    if let TransportConfig::Stdio { env, .. } = &mut server.transport {
        let own = std::mem::take(env);
        *env = env_file.unwrap_or_else(|| defaults.env_file.clone());
        env.extend(own);
    }
    fields.finish();
    Some(server)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sections::server::ProtocolChoice;
    use crate::testing::{errors, loaded};

    #[test]
    fn a_command_with_everything() {
        let config = loaded(
            "mcpServers:\n  a:\n    type: stdio\n    command: npx\n    args: [-p, 8080, '${TOKEN}']\n    env: {PORT: 1, ON: true}\n    \
             cwd: sub\n    disabled: true\n    timeout: 5s\n    maxTimeout: 1m\n    startTimeout: 1s\n    required: true\n    \
             restart: {maxBackoff: 2s}\n    maxMessageBytes: 1MiB\n    maxListBytes: 2MiB\n    protocol: 2025-11-25\n    probeTimeout: 3s\n    grace: 0s\n",
        );
        let server = &config.servers["a"];
        let TransportConfig::Stdio { command, args, env, cwd } = &server.transport else { panic!("not a command") };
        assert_eq!(command, "npx");
        assert_eq!(args, &["-p", "8080", "s3cret-from-environment"]);
        assert_eq!((env["PORT"].reveal(), env["ON"].reveal()), ("1", "true"));
        assert_eq!(cwd.as_deref(), Some(config.folder.join("sub").as_path()));
        assert!(server.disabled && server.required && server.grace.is_zero());
        assert_eq!((server.timeout, server.max_timeout), (Duration::from_secs(5), Duration::from_secs(60)));
        assert_eq!((server.max_backoff, server.max_message_bytes), (Duration::from_secs(2), 1 << 20));
        assert_eq!(server.max_list_bytes, 2 << 20);
        assert_eq!(server.protocol, ProtocolChoice::Pinned("2025-11-25".to_owned()));
        assert_eq!(server.place.as_ref().unwrap().line(), 2);
    }

    #[test]
    fn a_server_is_reached_in_one_way() {
        assert_eq!(
            errors("mcpServers:\n  a: {command: x, url: 'http://h/'}\n  b: {disabled: true}\n  c: {url: 'ftp://h'}\n"),
            [
                "2:19 `mcpServers.a.url`: `command` and `url` are mutually exclusive",
                "3:3 `mcpServers.b`: missing key `command` (program to run) or `url` (address of the server)",
                "4:12 `mcpServers.c.url`: expected a URL that begins with `http://` or `https://`",
            ]
        );
    }

    #[test]
    fn a_type_that_contradicts_is_an_error_and_one_that_agrees_is_fine() {
        loaded(
            "mcpServers: {a: {type: streamableHttp, url: 'https://h/mcp', args: []}, b: {transport: stdio, command: x}}",
        );
        let found = errors(
            "mcpServers:\n  a: {type: http, command: x}\n  b: {type: stdio, url: 'http://h'}\n  c: {type: sse, command: x}\n  \
             d: {type: tcp, command: x}\n  e: {command: x, headers: {A: b}}\n",
        );
        assert_eq!(found[0], "2:13 `mcpServers.a.type`: HTTP conflicts with `command`");
        assert_eq!(found[1], "3:13 `mcpServers.b.type`: `stdio` conflicts with `url`");
        assert_eq!(found[2], "4:13 `mcpServers.c.type`: HTTP conflicts with `command`");
        assert!(found[3].contains("expected one of `stdio`, `http`"), "{}", found[3]);
        assert!(found[4].contains("`mcpServers.e.headers`: requires `url`"), "{}", found[4]);
    }

    #[test]
    fn a_wrong_duration_or_size_shows_the_right_form() {
        let found = errors(
            "mcpServers:\n  a:\n    command: x\n    timeout: soon\n    grace: 30\n    startTimeout: 0s\n    maxMessageBytes: 4M\n",
        );
        assert_eq!(
            found,
            [
                "4:14 `mcpServers.a.timeout`: expected a duration such as `250ms`, `30s`, `5m` or `2h`, found `soon`",
                "5:12 `mcpServers.a.grace`: expected a duration such as `250ms`, `30s`, `5m` or `2h`, found `30` without a \
                 unit (write `30s` if you mean seconds, `30ms` for milliseconds)",
                "6:19 `mcpServers.a.startTimeout`: must be greater than zero",
                "7:22 `mcpServers.a.maxMessageBytes`: expected a size such as `4MiB`, `64KiB`, `1GiB` or a number of bytes, found `4M`",
            ]
        );
    }

    #[test]
    fn the_old_transport_is_asked_for_by_its_name() {
        let config = loaded("mcpServers: {a: {type: sse, url: 'http://h/sse'}, b: {type: http, url: 'http://h/mcp'}}");
        let sse = |name: &str| matches!(config.servers[name].transport, TransportConfig::Http { sse: true, .. });
        assert!(sse("a") && !sse("b"));
        let found = errors("mcpServers: {a: {transport: sse, url: 'http://h/sse', protocol: 2026-07-28}}");
        assert_eq!(
            found,
            ["1:65 `mcpServers.a.protocol`: this protocol version does not have the HTTP+SSE transport (`type: sse`)"]
        );
    }

    #[test]
    fn how_much_a_server_gets_and_when_it_is_left_alone() {
        let config = loaded(
            "mcpServers: {a: {command: x}, b: {command: x, maxConcurrent: 2, circuitBreaker: {failures: 0, cooldown: 1s}}}",
        );
        let (a, b) = (&config.servers["a"], &config.servers["b"]);
        assert_eq!((a.max_concurrent, a.circuit_breaker.failures), (64, 5));
        assert_eq!(a.circuit_breaker.cooldown, Duration::from_secs(30));
        assert_eq!((b.max_concurrent, b.circuit_breaker.failures), (2, 0));
        let found =
            errors("mcpServers:\n  a: {command: x, maxConcurrent: 0, circuitBreaker: {failures: -1, cooldown: 0s}}\n");
        assert!(found[0].contains("expected an integer of at least 1"), "{found:?}");
        assert!(found[1].contains("`mcpServers.a.circuitBreaker.failures`: expected an integer"), "{found:?}");
        assert!(found[2].contains("must be greater than zero"), "{found:?}");
    }

    #[test]
    fn a_long_timeout_stretches_its_limit_unless_that_is_set() {
        let config = loaded("mcpServers: {a: {command: x, timeout: 1h}}");
        assert_eq!(config.servers["a"].max_timeout, Duration::from_secs(3600));
        let found = errors("mcpServers: {a: {command: x, timeout: 1h, maxTimeout: 1m}}");
        assert!(found[0].contains("must not be shorter than `timeout`"), "{found:?}");
    }

    #[test]
    fn keys_that_do_nothing_yet_are_errors_that_say_so() {
        let found = errors("mcpServers: {a: {command: x, forwardHeaders: [], protocol: '1999'}}\n");
        assert_eq!(found[0], "1:30 `mcpServers.a.forwardHeaders` is not supported yet (remove it)");
        assert!(found[1].contains("expected one of `auto`, `2024-11-05`"), "{}", found[1]);
    }

    #[test]
    fn who_shares_a_server_and_how_long_people_may_take_can_be_said() {
        let config =
            loaded("mcpServers: {a: {command: x, scope: session, inputTimeout: 5s}, b: {command: x, scope: shared}}");
        assert!(config.servers["a"].session_scoped && !config.servers["b"].session_scoped);
        assert_eq!(config.servers["a"].input_timeout, Duration::from_secs(5));
        let config = loaded("mcpServers: {a: {command: x, scope: session, maxPerUser: 3}, b: {command: x}}");
        assert_eq!((config.servers["a"].max_per_user, config.servers["b"].max_per_user), (3, 16));
        let found =
            errors("mcpServers: {a: {command: x, maxPerUser: 3}, b: {command: x, scope: session, maxPerUser: 0}}");
        assert!(found[0].contains("`mcpServers.a.maxPerUser`: requires `scope: session`"), "{found:?}");
        assert!(found[1].contains("expected an integer of at least 1"), "{found:?}");
        assert!(errors("mcpServers: {a: {command: x, scope: all}}")[0].contains("one of `shared`, `session`"));
    }

    #[test]
    fn a_server_that_only_moved_is_the_same() {
        let before = loaded("mcpServers: {a: {command: x, env: {K: v}}}");
        let moved = loaded("\n\nmcpServers: {b: {command: y}, a: {command: x, env: {K: v}}}");
        let changed = loaded("mcpServers: {a: {command: x, env: {K: w}}}");
        assert!(before.servers["a"].is_same_as(&moved.servers["a"]));
        assert!(!before.servers["a"].is_same_as(&changed.servers["a"]));
        let server = |text: &str| loaded(text).servers["a"].clone();
        let (before, moved) = (
            server("mcpServers: {a: {url: 'https://h/', auth: {type: oauth}}}"),
            server("\nmcpServers:\n  a:\n    url: https://h/\n    auth: {type: oauth}\n"),
        );
        assert!(before.is_same_as(&moved));
    }

    #[test]
    fn lists_of_another_account_are_not_those_of_this_one() {
        let digest = |auth: &str| {
            let config = loaded(&format!("mcpServers: {{a: {{url: 'https://h/'{auth}}}}}"));
            config.servers["a"].environment_digest()
        };
        let plain = digest("");
        let same = ["{type: oauth}", "{type: oauth, redirectPort: 7000, shared: true}"];
        for auth in same {
            assert_eq!(digest(&format!(", auth: {auth}")), plain, "{auth}: who logs in decides");
        }
        let others = [
            "{type: oauth, scopes: [read]}",
            "{type: oauth, scopes: [read, write]}",
            "{type: oauth, issuer: 'https://as', clientId: x}",
            "{type: oauth, resource: none}",
            "{type: clientCredentials, clientId: x, clientSecret: s}",
            "{type: clientCredentials, clientId: y, clientSecret: s}",
            "{type: enterprise, idToken: t, idpTokenUrl: 'https://i/', idpClientId: i, clientId: c}",
            "{type: enterprise, idToken: u, idpTokenUrl: 'https://i/', idpClientId: i, clientId: c}",
        ];
        let mut seen: Vec<String> = others.iter().map(|auth| digest(&format!(", auth: {auth}"))).collect();
        seen.push(plain);
        let number = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), number);
    }

    #[test]
    fn methods_are_names_or_beginnings_and_not_the_protocols_own() {
        let config = loaded("mcpServers: {a: {command: x, methods: [vendor/search, 'vendor/*']}}");
        let methods: Vec<String> = config.servers["a"].methods.iter().map(ToString::to_string).collect();
        assert_eq!(methods, ["vendor/search", "vendor/*"]);
        let found = errors("mcpServers: {a: {command: x, methods: [tools/call, 'x*']}}");
        assert!(found[0].contains("belongs to the protocol itself"), "{found:?}");
        assert!(found[1].contains("after a `/`"), "{found:?}");
    }

    #[test]
    fn a_name_must_be_usable() {
        let long = "n".repeat(65);
        let found = errors(&format!("mcpServers: {{a/b: {{command: x}}, '': {{command: x}}, {long}: {{command: x}}}}"));
        assert!(found[0].contains("must not contain `/`"), "{}", found[0]);
        assert!(found[1].contains("must not be empty"), "{}", found[1]);
        assert!(found[2].contains("at most 64 characters"), "{}", found[2]);
    }
}
