//! Warns about servers with a missing program.

use std::ffi::OsString;
use std::path::Path;

use proxy_base::diagnostic::Diagnostic;
use proxy_base::process::find_program;
use proxy_config::{Config, TransportConfig};

/// A warning for each server whose program is found nowhere. These are environment variables.
pub(super) fn warnings(config: &Config, variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<Diagnostic> {
    let servers = config.servers.iter().filter(|(_, server)| !server.disabled);
    let missing = servers.filter_map(|(name, server)| match &server.transport {
        // A command with spaces has a warning of its own, and a server with its own `PATH` is looked for there.
        TransportConfig::Stdio { command, env, .. }
            if !command.contains(char::is_whitespace) && !env.contains_key("PATH") =>
        {
            let problem = problem(command, variable)?;
            Some((name, command, problem, server.place.clone()))
        }
        _ => None,
    });
    let warning = |(name, command, problem, place): (&String, &String, String, _)| {
        let warning =
            Diagnostic::warning(format!("`mcpServers.{name}.command`: there is no program `{command}`{problem}"))
                .hint("install it, or write its whole path");
        match place {
            Some(place) => warning.at(place),
            None => warning,
        }
    };
    missing.map(warning).collect()
}

/// Where the program was looked for, unless it is there. `proxy` is the running one, and what begins with a variable is no
/// path yet.
fn problem(command: &str, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<String> {
    if command == "proxy" || command.starts_with('$') {
        return None;
    }
    if command.contains('/') {
        return (!Path::new(command).is_file()).then(String::new);
    }
    find_program(command, variable).err().map(|error| format!(" {error}"))
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
        let variable = |name: &str| (name == "PATH").then(|| OsString::from("/bin:/usr/bin"));
        let found: Vec<String> = warnings(&config, &variable).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].contains("`mcpServers.a.command`: there is no program `no-such-program` in `PATH` or"),
            "{found:?}"
        );
        assert!(found[0].contains("proxy.yaml:2") && found[1].contains("`/no/such`"), "{found:?}");
    }
}
