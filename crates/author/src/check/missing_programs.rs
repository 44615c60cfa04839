//! Warns about servers with a missing program.

use std::ffi::OsStr;
use std::path::Path;

use proxy_base::diagnostic::Diagnostic;
use proxy_base::process::program_in;
use proxy_config::{Config, TransportConfig};

/// A warning for each server that would be started by a program which `PATH` does not have.
pub(super) fn warnings(config: &Config, path: &OsStr) -> Vec<Diagnostic> {
    let servers = config.servers.iter().filter(|(_, server)| !server.disabled);
    let missing = servers.filter_map(|(name, server)| match &server.transport {
        // A command with spaces has a warning of its own, and a server with its own `PATH` is looked for there.
        TransportConfig::Stdio { command, env, .. }
            if !command.contains(char::is_whitespace) && !env.contains_key("PATH") && !is_there(command, path) =>
        {
            Some((name, command, server.place.clone()))
        }
        _ => None,
    });
    let warning = |(name, command, place): (&String, &String, _)| {
        let warning = Diagnostic::warning(format!("`mcpServers.{name}.command`: there is no program `{command}`"))
            .hint("install it, or write its whole path");
        match place {
            Some(place) => warning.at(place),
            None => warning,
        }
    };
    missing.map(warning).collect()
}

/// Whether a program can be found. `proxy` is the running one, and what begins with a variable is no path yet.
fn is_there(command: &str, path: &OsStr) -> bool {
    command == "proxy"
        || command.starts_with('$')
        || (command.contains('/') && Path::new(command).is_file())
        || (!command.contains('/') && program_in(path, command).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_told_with_its_line() {
        let text = "mcpServers:\n  a: {command: no-such-program}\n  b: {command: sh}\n  c: {command: /no/such}\n  d: {command: proxy}\n  \
                    e: {command: no-such-program, disabled: true}\n  f: {command: no-such-program, env: {PATH: /x}}\n  \
                    g: {url: 'https://h/'}\n";
        let (config, _) = proxy_config::load_text(Path::new("proxy.yaml"), text, &|_| None).unwrap();
        let found: Vec<String> =
            warnings(&config, OsStr::new("/bin:/usr/bin")).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("`mcpServers.a.command`: there is no program `no-such-program`"), "{found:?}");
        assert!(found[0].contains("proxy.yaml:2") && found[1].contains("`/no/such`"), "{found:?}");
    }
}
