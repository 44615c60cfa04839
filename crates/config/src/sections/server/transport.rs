//! Reads the keys of a server's transport: a command to run, or a URL.

use std::path::Path;

use http::{HeaderName, HeaderValue};
use indexmap::IndexMap;

use proxy_base::diagnostic::Severity;
use proxy_base::process::program_in;
use proxy_model::Secret;

use super::TransportConfig;
use crate::sections::url::url_problem;
use crate::syntax::reader::{Fields, ValueReader};

#[derive(Clone, Copy, PartialEq)]
enum TransportKind {
    Stdio,
    Http,
    Sse,
}

const TRANSPORT_KINDS: [(&str, TransportKind); 5] = [
    ("stdio", TransportKind::Stdio),
    ("http", TransportKind::Http),
    ("streamable-http", TransportKind::Http),
    ("streamableHttp", TransportKind::Http),
    ("sse", TransportKind::Sse),
];

struct TransportKeys<'a> {
    command: Option<ValueReader<'a>>,
    args: Option<ValueReader<'a>>,
    env: Option<ValueReader<'a>>,
    cwd: Option<ValueReader<'a>>,
    url: Option<ValueReader<'a>>,
    headers: Option<ValueReader<'a>>,
}

/// Reads the keys of both kinds of transport, so that all are known keys and report their errors, and then determines
/// the kind.
pub(super) fn read_transport(fields: &mut Fields, server: &ValueReader) -> Option<TransportConfig> {
    let [command, args, env, cwd] = ["command", "args", "env", "cwd"].map(|key| fields.get(key));
    let [url, headers] = ["url", "headers"].map(|key| fields.get(key));
    let keys = TransportKeys { command, args, env, cwd, url, headers };
    let mut sse = false;
    for declared in ["type", "transport"].into_iter().filter_map(|key| fields.get(key)) {
        sse |= read_kind(&declared, keys.command.is_some(), keys.url.is_some()) == Some(TransportKind::Sse);
    }
    let (stdio, http) = (keys.read_stdio(), keys.read_http(sse));
    match (&keys.command, &keys.url) {
        (Some(_), None) => {
            refuse([&keys.headers], "requires `url`: a server with `command` has no HTTP headers");
            stdio
        }
        (None, Some(_)) => {
            let problem = "requires `command`: the proxy does not start a server with `url`";
            refuse([&keys.args, &keys.env, &keys.cwd], problem);
            http
        }
        (Some(_), Some(url)) => {
            url.report(url.problem("`command` and `url` are mutually exclusive").at(url.place()));
            None
        }
        (None, None) => {
            let problem = server.problem("missing key `command` (program to run) or `url` (address of the server)");
            server.report(problem.at(server.place()));
            None
        }
    }
}

impl TransportKeys<'_> {
    fn read_stdio(&self) -> Option<TransportConfig> {
        let command =
            self.command.as_ref().and_then(|command| Some(resolve_command(command.folder(), command.word()?)));
        if let (Some(reader), Some(command)) = (&self.command, &command) {
            warn_about_arguments(reader, command);
        }
        let args = self.args.as_ref().map_or(Some(Vec::new()), |args| args.list(ValueReader::text));
        let env = self.env.as_ref().map_or(Some(Vec::new()), |env| env.map(read_variable));
        let cwd = self.cwd.as_ref().and_then(ValueReader::path_value);
        Some(TransportConfig::Stdio { command: command?, args: args?, env: env?.into_iter().collect(), cwd })
    }

    fn read_http(&self, sse: bool) -> Option<TransportConfig> {
        let headers = self.headers.as_ref().map_or(Some(Vec::new()), |headers| headers.map(read_header));
        let url = self.url.as_ref().and_then(read_url);
        Some(TransportConfig::Http { url: url?, headers: headers?.into_iter().collect(), sse })
    }
}

/// Resolves a relative path against the folder of the config, independent of the current folder. A bare name is left
/// for the search in `PATH`.
fn resolve_command(folder: &Path, command: String) -> String {
    // A command that begins with a variable of another tool is not a path.
    let is_relative_path = command.contains('/') && Path::new(&command).is_relative() && !command.starts_with('$');
    if is_relative_path { folder.join(&command).to_string_lossy().into_owned() } else { command }
}

/// Warns if `command` contains arguments, as a shell would accept.
fn warn_about_arguments(reader: &ValueReader, command: &str) {
    let Some((program, rest)) = command.split_once(char::is_whitespace) else { return };
    let path = std::env::var_os("PATH").unwrap_or_default();
    if program_in(&path, command).is_none() && !Path::new(command).is_file() {
        let mut warning = reader.problem("there is no program with this name; `command` must not contain arguments");
        warning.severity = Severity::Warning;
        let rest: Vec<&str> = rest.split_whitespace().collect();
        reader.report(
            warning.hint(format!("move the arguments to `args`: `command: {program}`, `args: [{}]`", rest.join(", "))),
        );
    }
}

fn read_url(reader: &ValueReader) -> Option<String> {
    let url = reader.word()?;
    match url_problem(&url) {
        Some(problem) if !reader.is_unread() => reader.fail(problem),
        _ => Some(url),
    }
}

/// A placeholder for a transport whose errors have been reported.
pub(super) fn unreadable() -> TransportConfig {
    TransportConfig::Http { url: String::new(), headers: IndexMap::new(), sse: false }
}

fn refuse<const COUNT: usize>(keys: [&Option<ValueReader>; COUNT], problem: &str) {
    for key in keys.into_iter().flatten().filter(|key| !key.is_empty()) {
        key.report(key.problem(problem).at(key.place()));
    }
}

/// Reads the declared kind of transport, and reports a contradiction to `command` and `url`.
fn read_kind(declared: &ValueReader, has_command: bool, has_url: bool) -> Option<TransportKind> {
    let kind = declared.choice(&TRANSPORT_KINDS)?;
    match kind {
        TransportKind::Stdio if has_url && !has_command => {
            declared.report(declared.problem("`stdio` conflicts with `url`"))
        }
        TransportKind::Http | TransportKind::Sse if has_command && !has_url => {
            declared.report(declared.problem("HTTP conflicts with `command`"));
        }
        _ => {}
    }
    Some(kind)
}

fn read_variable(name: &str, reader: &ValueReader) -> Option<Secret> {
    if name.is_empty() || name.contains(['=', '\0']) {
        reader.report(reader.problem("invalid name of an environment variable").at(reader.place()));
    }
    let value = reader.secret()?;
    if value.reveal().contains('\0') {
        return reader.fail("an environment variable must not contain NUL characters");
    }
    Some(value)
}

pub(crate) fn read_header(name: &str, reader: &ValueReader) -> Option<Secret> {
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        reader.report(reader.problem("invalid name of an HTTP header").at(reader.place()));
    }
    let value = reader.secret()?;
    if HeaderValue::from_str(value.reveal()).is_err() {
        return reader.fail("an HTTP header must not contain line breaks or control characters");
    }
    Some(value)
}
