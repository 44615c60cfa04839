//! Shows what an imported config would start or connect to, for review by a person.

use std::fmt::Write;

use super::{Imported, ImportedServer, ImportedTarget, ImportedText};
use crate::syntax::mask::{SecretFlag, flag_of};

/// One line for each imported server with its command or URL, for review by a person.
pub fn commands(imported: &Imported) -> Vec<String> {
    imported.entries.iter().map(target_line).collect()
}

fn target_line(entry: &ImportedServer) -> String {
    let name = one_line(&entry.name);
    let (mut text, set, names) = match &entry.target {
        ImportedTarget::Command(command) => {
            let args: Vec<String> = command.args.iter().map(as_imported).collect();
            let cwd = command.cwd.as_ref().map(as_imported);
            let line = command_line(&as_imported(&command.command), &args, cwd.as_deref());
            (format!("{name}: {line}"), "sets", names(&command.env))
        }
        ImportedTarget::Url { url, headers, .. } => {
            (format!("{name}: {}", address(&as_imported(url))), "sends", names(headers))
        }
    };
    if !names.is_empty() {
        let _ = write!(text, "  ({set} {})", names.join(", "));
    }
    if entry.disabled {
        text.push_str("  (disabled)");
    }
    text
}

/// What the config will have, with its variables as `${NAME}`. An escaped dollar sign is one again.
fn as_imported(text: &ImportedText) -> String {
    text.text.replace("$$", "$")
}

fn names(values: &[(String, ImportedText)]) -> Vec<String> {
    values.iter().map(|(name, _)| one_line(name)).collect()
}

/// A URL without its possibly secret parts: the query and the user info.
fn address(url: &str) -> String {
    let (plain, prompted) = url.split_once(['?', '#']).map_or((url, ""), |(plain, _)| (plain, "?..."));
    let (scheme, rest) = plain.split_once("://").unwrap_or(("", plain));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or(host);
    one_line(&format!("{scheme}://{host}/{path}{prompted}"))
}

fn command_line(command: &str, args: &[String], cwd: Option<&str>) -> String {
    let mut text = word(command);
    let mut after_flag = false;
    for argument in args {
        let flag = flag_of(argument);
        let shown = match flag {
            // Keep the name, so that a person sees which option is set, and what a shell would run after it.
            SecretFlag::WithValue => {
                let (name, value) = argument.split_at(argument.find(['=', ':']).unwrap_or(argument.len()));
                let ends = |character: char| character.is_whitespace() || ";|&<>()`".contains(character);
                let rest = value.find(ends).filter(|_| !argument.starts_with('-')).map_or("", |at| &value[at..]);
                word(&format!("{name}=***{rest}"))
            }
            _ if after_flag => "***".to_owned(),
            _ => word(&without_credentials(argument)),
        };
        after_flag = flag == SecretFlag::BeforeValue;
        let _ = write!(text, " {shown}");
    }
    if let Some(cwd) = cwd {
        let _ = write!(text, "  (in {})", one_line(cwd));
    }
    text
}

/// An argument without the user info and the query of the address in it: `https://...`, or `URL=https://...`.
fn without_credentials(argument: &str) -> String {
    match argument.find("://") {
        Some(scheme) if argument.contains(['@', '?']) => {
            let is_scheme = |character: char| character.is_ascii_alphanumeric() || "+-.".contains(character);
            let start = argument[..scheme].rfind(|character| !is_scheme(character)).map_or(0, |before| before + 1);
            let start = if argument.is_char_boundary(start) { start } else { scheme };
            format!("{}{}", &argument[..start], address(&argument[start..]))
        }
        _ => argument.to_owned(),
    }
}

/// An argument in shell-like quoting. Quoting prevents control characters and hidden word boundaries in the terminal.
fn word(text: &str) -> String {
    let simple = |character: char| character.is_alphanumeric() || "_./@:=,+%*-".contains(character);
    if !text.is_empty() && text.chars().all(simple) { text.to_owned() } else { format!("{text:?}") }
}

pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\'' | '\\' => line.push(character),
            _ => line.extend(character.escape_debug()),
        }
    }
    line
}
