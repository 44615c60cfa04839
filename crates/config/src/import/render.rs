//! Renders imported servers as a commented config file.

use std::time::Duration;

use super::shown::one_line;
use super::{Imported, ImportedCommand, ImportedServer, ImportedTarget, ImportedText};

/// A config file with the imported servers, including the values of `env` and `headers`.
pub fn render_yaml(imported: &Imported) -> String {
    let files: Vec<String> = imported.files.iter().map(|file| one_line(file)).collect();
    let mut yaml = format!("# Imported from {}.\n", files.join(", "));
    yaml.push_str("# `proxy check` validates this file, `proxy serve` runs it.\n\n");
    for warning in &imported.warnings {
        line(&mut yaml, 0, &format!("# note: {}", one_line(&warning.message)));
    }
    if imported.entries.is_empty() {
        yaml.push_str("mcpServers: {}\n");
        return yaml;
    }
    yaml.push_str("mcpServers:\n");
    yaml.push_str(&servers(&imported.entries));
    tools(&mut yaml, &imported.entries);
    yaml
}

/// The entries below `mcpServers`, indented by two spaces.
pub(super) fn servers(entries: &[ImportedServer]) -> String {
    let mut yaml = String::new();
    entries.iter().for_each(|entry| server(&mut yaml, entry));
    yaml
}

fn server(yaml: &mut String, entry: &ImportedServer) {
    line(yaml, 1, &format!("{}:", scalar(&entry.name)));
    match &entry.target {
        ImportedTarget::Command(command) => command_keys(yaml, command),
        ImportedTarget::Url { url, headers, sse } => {
            value(yaml, 2, "url: ", url);
            if *sse {
                line(yaml, 2, "type: sse");
            }
            map(yaml, "headers:", headers);
        }
    }
    for (key, duration) in [("timeout", entry.timeout), ("startTimeout", entry.start_timeout)] {
        if let Some(duration) = duration {
            line(yaml, 2, &format!("{key}: {}", written(duration)));
        }
    }
    if entry.required {
        line(yaml, 2, "required: true");
    }
    if entry.disabled {
        line(yaml, 2, "disabled: true");
    }
}

fn command_keys(yaml: &mut String, command: &ImportedCommand) {
    value(yaml, 2, "command: ", &command.command);
    if !command.args.is_empty() {
        line(yaml, 2, "args:");
        command.args.iter().for_each(|argument| value(yaml, 3, "- ", argument));
    }
    if let Some(cwd) = &command.cwd {
        value(yaml, 2, "cwd: ", cwd);
    }
    map(yaml, "env:", &command.env);
    if let Some(file) = &command.env_file {
        value(yaml, 2, "envFile: ", file);
    }
    if !command.inherit_env.is_empty() {
        line(yaml, 2, &format!("inheritEnv: {}", flow(&command.inherit_env)));
    }
}

/// What is published of the tools of each server.
pub(super) fn tools(yaml: &mut String, entries: &[ImportedServer]) {
    let selected: Vec<_> = entries.iter().filter(|entry| !entry.tools.is_everything()).collect();
    if selected.is_empty() {
        return;
    }
    yaml.push_str("\naggregation:\n");
    line(yaml, 1, "tools:");
    for entry in selected {
        line(yaml, 2, &format!("- workload: {}", scalar(&entry.name)));
        match &entry.tools.only {
            Some(only) if only.is_empty() => line(yaml, 3, "excludeAll: true"),
            Some(only) => line(yaml, 3, &format!("filter: {}", flow(only))),
            None => {}
        }
        if !entry.tools.exclude.is_empty() {
            line(yaml, 3, &format!("exclude: {}", flow(&entry.tools.exclude)));
        }
    }
}

fn flow(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| scalar(&item.replace('$', "$$"))).collect();
    format!("[{}]", items.join(", "))
}

fn written(duration: Duration) -> String {
    match duration.subsec_millis() {
        0 => format!("{}s", duration.as_secs()),
        _ => format!("{}ms", duration.as_millis()),
    }
}

fn map(yaml: &mut String, key: &str, entries: &[(String, ImportedText)]) {
    for (index, (name, text)) in entries.iter().enumerate() {
        if index == 0 {
            line(yaml, 2, key);
        }
        value(yaml, 3, &format!("{}: ", scalar(name)), text);
    }
}

/// Writes a value, preceded by comments about its variables.
fn value(yaml: &mut String, depth: usize, before: &str, text: &ImportedText) {
    for note in &text.notes {
        line(yaml, depth, &format!("# {}", one_line(note)));
    }
    line(yaml, depth, &format!("{before}{}", scalar(&text.text)));
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
