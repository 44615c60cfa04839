//! Renders imported servers as a commented config file, and as a list of the commands they would run.

use std::fmt::Write;

use super::variables::{Translated, translate};
use super::{Imported, ImportedServer, ImportedTarget};
use crate::config::syntax::mask::{SecretFlag, flag_of};
use crate::model::Secret;

/// A config file with the imported servers, including the values of `env` and `headers`.
pub fn render_yaml(imported: &Imported) -> String {
    let mut yaml = format!("# Imported from {}.\n", one_line(&imported.file));
    yaml.push_str("# `proxy check` validates this file, `proxy serve` runs it.\n\n");
    for warning in &imported.warnings {
        line(&mut yaml, 0, &format!("# note: {}", one_line(&warning.message)));
    }
    if imported.entries.is_empty() {
        yaml.push_str("mcpServers: {}\n");
        return yaml;
    }
    yaml.push_str("mcpServers:\n");
    for entry in &imported.entries {
        server(&mut yaml, entry);
    }
    yaml
}

fn server(yaml: &mut String, entry: &ImportedServer) {
    line(yaml, 1, &format!("{}:", scalar(&entry.name)));
    match &entry.target {
        ImportedTarget::Command { command, args, env, cwd } => {
            value(yaml, 2, "command: ", command);
            if !args.is_empty() {
                line(yaml, 2, "args:");
                args.iter().for_each(|argument| value(yaml, 3, "- ", argument));
            }
            if let Some(cwd) = cwd {
                value(yaml, 2, "cwd: ", cwd);
            }
            map(yaml, "env:", env.iter().map(|(name, secret)| (name.as_str(), secret.reveal())));
        }
        ImportedTarget::Url { url, headers, sse } => {
            value(yaml, 2, "url: ", url);
            if *sse {
                line(yaml, 2, "type: sse");
            }
            map(yaml, "headers:", headers.iter().map(|(name, secret)| (name.as_str(), secret.reveal())));
        }
    }
    if entry.disabled {
        line(yaml, 2, "disabled: true");
    }
}

fn map<'a>(yaml: &mut String, key: &str, entries: impl Iterator<Item = (&'a str, &'a str)>) {
    for (index, (name, text)) in entries.enumerate() {
        if index == 0 {
            line(yaml, 2, key);
        }
        value(yaml, 3, &format!("{}: ", scalar(name)), text);
    }
}

/// Writes a value, preceded by comments about its variables.
fn value(yaml: &mut String, depth: usize, before: &str, text: &str) {
    let Translated { text, prompted, unknown } = translate(text);
    for name in prompted {
        line(yaml, depth, &format!("# VS Code prompts for this value: set the environment variable {name}"));
    }
    for name in unknown {
        line(yaml, depth, &format!("# unknown variable: {}", one_line(&name)));
    }
    line(yaml, depth, &format!("{before}{}", scalar(&text)));
}

fn line(yaml: &mut String, depth: usize, text: &str) {
    yaml.push_str(&"  ".repeat(depth));
    yaml.push_str(text);
    yaml.push('\n');
}

/// A plain scalar if it is unambiguous, or else a JSON string, which is also valid YAML.
fn scalar(text: &str) -> String {
    let plain = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && text.chars().all(|character| character.is_ascii_alphanumeric() || "_./@-".contains(character))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&text.to_lowercase().as_str());
    if plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// One line for each imported server with its command or URL, for review by a person.
pub fn commands(imported: &Imported) -> Vec<String> {
    imported.entries.iter().map(target_line).collect()
}

fn target_line(entry: &ImportedServer) -> String {
    let name = one_line(&entry.name);
    let (mut text, set, names) = match &entry.target {
        ImportedTarget::Command { command, args, env, cwd } => {
            (format!("{name}: {}", command_line(command, args, cwd.as_deref())), "sets", names(env))
        }
        ImportedTarget::Url { url, headers, .. } => (format!("{name}: {}", address(url)), "sends", names(headers)),
    };
    if !names.is_empty() {
        let _ = write!(text, "  ({set} {})", names.join(", "));
    }
    text
}

fn names(values: &[(String, Secret)]) -> Vec<String> {
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
            // Keep the name, so that a person sees which option is set.
            SecretFlag::WithValue => {
                let name = argument.split(['=', ':']).next().unwrap_or_default();
                word(&format!("{name}=***"))
            }
            _ if after_flag => "***".to_owned(),
            _ => word(argument),
        };
        after_flag = flag == SecretFlag::BeforeValue;
        let _ = write!(text, " {shown}");
    }
    if let Some(cwd) = cwd {
        let _ = write!(text, "  (in {})", one_line(cwd));
    }
    text
}

/// An argument in shell-like quoting. Quoting prevents control characters and hidden word boundaries in the terminal.
fn word(text: &str) -> String {
    let simple = |character: char| character.is_alphanumeric() || "_./@:=,+%*-".contains(character);
    if !text.is_empty() && text.chars().all(simple) { text.to_owned() } else { format!("{text:?}") }
}

fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\'' | '\\' => line.push(character),
            _ => line.extend(character.escape_debug()),
        }
    }
    line
}
