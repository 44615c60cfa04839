//! The keys that say how a server is reached: a command to start, or an address.

use std::path::Path;

use http::{HeaderName, HeaderValue};
use indexmap::IndexMap;

use crate::model::Secret;

use super::super::reader::{Fields, Reader};
use super::{Transport, url_problem};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Stdio,
    Http,
    Sse,
}

const KINDS: [(&str, Kind); 5] = [
    ("stdio", Kind::Stdio),
    ("http", Kind::Http),
    ("streamable-http", Kind::Http),
    ("streamableHttp", Kind::Http),
    ("sse", Kind::Sse),
];

/// Reads the keys of both kinds, so that all of them are known ones, then sees which kind it is.
pub fn read_transport(fields: &mut Fields, server: &Reader, folder: &Path) -> Option<Transport> {
    let [command, args, env, cwd] = ["command", "args", "env", "cwd"].map(|key| fields.get(key));
    let [url, headers] = ["url", "headers"].map(|key| fields.get(key));
    let said = ["type", "transport"].map(|key| fields.get(key));
    let transport = match (&command, &url) {
        (Some(command), None) => {
            refuse([&headers], "needs `url`; a server with `command` has no headers");
            read_stdio(command, args, env, cwd, folder)
        }
        (None, Some(url)) => {
            refuse([&args, &env, &cwd], "needs `command`; a server with `url` is not started by the proxy");
            read_http(url, headers)
        }
        (Some(_), Some(url)) => {
            url.report(url.problem("a server has `command` or `url`, not both").at(url.place()));
            None
        }
        (None, None) => {
            let problem = server.problem("a server needs `command` (a program to start) or `url` (an address)");
            server.report(problem.at(server.place()));
            None
        }
    };
    for said in said.iter().flatten() {
        check_kind(said, command.is_some(), url.is_some());
    }
    transport
}

/// What stands in for a transport that could not be read; never leaves the reading of its server.
pub fn nowhere() -> Transport {
    Transport::Http { url: String::new(), headers: IndexMap::new() }
}

fn refuse<const COUNT: usize>(keys: [&Option<Reader>; COUNT], problem: &str) {
    for key in keys.into_iter().flatten().filter(|key| !key.is_empty()) {
        key.report(key.problem(problem).at(key.place()));
    }
}

fn check_kind(said: &Reader, has_command: bool, has_url: bool) {
    match said.choice(&KINDS) {
        Some(Kind::Sse) => {
            let problem = said.problem("the old HTTP+SSE transport is not supported yet");
            said.report(problem.hint("many servers offer streamable HTTP too, often at `/mcp` instead of `/sse`"));
        }
        Some(Kind::Stdio) if has_url && !has_command => {
            said.fail("says `stdio`, but the server has `url`").unwrap_or(())
        }
        Some(Kind::Http) if has_command && !has_url => {
            said.fail("says HTTP, but the server has `command`").unwrap_or(())
        }
        _ => {}
    }
}

fn read_stdio(
    command: &Reader,
    args: Option<Reader>,
    env: Option<Reader>,
    cwd: Option<Reader>,
    folder: &Path,
) -> Option<Transport> {
    let args = args.map_or(Some(Vec::new()), |args| args.list(Reader::text));
    let env = env.map_or(Some(Vec::new()), |env| env.map(read_variable));
    let cwd = cwd.map(|cwd| cwd.word().map(|cwd| folder.join(cwd)));
    Some(Transport::Stdio {
        command: command.word()?,
        args: args?,
        env: env?.into_iter().collect(),
        cwd: cwd.map_or(Some(None), |cwd| cwd.map(Some))?,
    })
}

fn read_variable(name: &str, reader: &Reader) -> Option<Secret> {
    if name.is_empty() || name.contains(['=', '\0']) {
        reader.report(reader.problem("this cannot be the name of an environment variable").at(reader.place()));
    }
    let value = reader.secret()?;
    if value.reveal().contains('\0') {
        return reader.fail("an environment variable cannot hold a NUL character");
    }
    Some(value)
}

fn read_http(url: &Reader, headers: Option<Reader>) -> Option<Transport> {
    let headers = headers.map_or(Some(Vec::new()), |headers| headers.map(read_header));
    let address = url.word()?;
    if let Some(problem) = url_problem(&address) {
        return url.fail(problem);
    }
    Some(Transport::Http { url: address, headers: headers?.into_iter().collect() })
}

fn read_header(name: &str, reader: &Reader) -> Option<Secret> {
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        reader.report(reader.problem("this cannot be the name of an HTTP header").at(reader.place()));
    }
    let value = reader.secret()?;
    if HeaderValue::from_str(value.reveal()).is_err() {
        return reader.fail("an HTTP header cannot hold line breaks or control characters");
    }
    Some(value)
}
