//! Servers named on the command line: `time=uvx mcp-server-time`, `docs=https://host/mcp`.

use indexmap::IndexMap;

use proxy_base::diagnostic::Diagnostic;
use proxy_model::Secret;

use super::sections::server::{ServerConfig, TransportConfig, identity_of_words, name_problem};
use super::sections::url::url_problem;
use super::syntax::words::split_words;

/// Parses `NAME=COMMAND` or `NAME=URL`. A command gets the variables of `env`, each written as `NAME=VALUE`.
pub fn server_from_argument(argument: &str, env: &[String]) -> Result<(String, ServerConfig), Diagnostic> {
    let fail = |problem: &str| {
        Diagnostic::error(format!("`--server`: {problem}"))
            .hint("write `--server time=\"uvx mcp-server-time\"` or `--server docs=https://host/mcp`")
    };
    let Some((name, target)) = argument.split_once('=') else { return Err(fail("expected NAME=COMMAND or NAME=URL")) };
    let (name, target) = (name.trim(), target.trim());
    if let Some(problem) = name_problem(name) {
        return Err(fail(&problem));
    }
    if target.starts_with("http://") || target.starts_with("https://") {
        if let Some(problem) = url_problem(target) {
            return Err(fail(problem));
        }
        let transport = TransportConfig::Http { url: target.to_owned(), headers: IndexMap::new(), sse: false };
        let identity = identity_of_words("url", &[target.to_owned()]);
        return Ok((name.to_owned(), ServerConfig { identity, ..ServerConfig::new(transport) }));
    }
    let words = split_words(target).ok_or_else(|| fail("unclosed quote"))?;
    let identity = identity_of_words("command", &words);
    let mut words = words.into_iter();
    let Some(command) = words.next().filter(|command| !command.is_empty()) else {
        return Err(fail(&format!("missing command for `{name}`")));
    };
    let env = env.iter().map(|variable| read_variable(variable)).collect::<Result<_, _>>()?;
    let transport = TransportConfig::Stdio { command, args: words.collect(), env, cwd: None };
    Ok((name.to_owned(), ServerConfig { identity, ..ServerConfig::new(transport) }))
}

fn read_variable(argument: &str) -> Result<(String, Secret), Diagnostic> {
    match argument.split_once('=') {
        Some((name, value)) if !name.is_empty() && !argument.contains('\0') => {
            Ok((name.to_owned(), Secret::new(value.to_owned())))
        }
        // The argument may contain a secret, so it is not shown.
        _ => Err(Diagnostic::error("`--env`: expected NAME=VALUE").hint("write `--env API_KEY=\"$API_KEY\"`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_taken_apart_as_a_shell_would() {
        let (name, server) = server_from_argument(r#"a=run 'x y' "p\"q\n" b\ c --k=v ''"#, &[]).unwrap();
        let TransportConfig::Stdio { command, args, .. } = server.transport else { panic!("not a command") };
        assert_eq!((name.as_str(), command.as_str()), ("a", "run"));
        assert_eq!(args, ["x y", r#"p"q\n"#, "b c", "--k=v", ""]);
    }

    #[test]
    fn an_address_is_an_http_server() {
        let (name, server) = server_from_argument("docs=https://host/mcp?a=b", &[]).unwrap();
        assert_eq!(name, "docs");
        assert!(matches!(server.transport, TransportConfig::Http { url, .. } if url == "https://host/mcp?a=b"));
    }

    #[test]
    fn what_cannot_be_understood_shows_the_right_form() {
        for wrong in ["uvx", "=uvx", "a=", "a='x", "a/b=uvx", "a=https://", "a=''"] {
            let error = server_from_argument(wrong, &[]).unwrap_err();
            assert!(error.hint.unwrap().contains("--server time="), "{wrong}");
        }
    }
}
