//! `proxy status`: how a running `proxy serve` is.

use clap::Args;
use serde_json::{Value, json};

use super::failure::Failure;
use super::setup;
use super::{output, table};
use crate::control::{Instance, instances};
use crate::diagnostic::Diagnostic;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The process to ask, if several run
    #[arg(long)]
    pid: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut running = instances(&setup::control_folder());
    if let Some(pid) = arguments.pid {
        running.retain(|instance| instance.pid == pid);
    }
    match running.as_slice() {
        [] => Err(Failure::failed(none(arguments.pid))),
        [one] => {
            let status = ask(one)?;
            if arguments.json {
                output::json(&status)
            } else {
                output::out(&told(&status))
            }
            Ok(())
        }
        several => {
            let all = several.iter().map(ask).collect::<Result<Vec<_>, _>>()?;
            if arguments.json {
                output::json(&all.iter().map(brief).collect::<Vec<_>>())
            } else {
                list(&all)
            }
            Ok(())
        }
    }
}

fn none(pid: Option<u32>) -> Diagnostic {
    match pid {
        Some(pid) => Diagnostic::error(format!("no `proxy serve` of this user runs as process {pid}"))
            .hint("`proxy status` without `--pid` names those that run"),
        None => Diagnostic::error("no `proxy serve` of this user is running")
            .hint("`proxy serve` starts one; `proxy list-servers` starts the configured servers just to look at them"),
    }
}

fn ask(instance: &Instance) -> Result<Value, Failure> {
    instance.status().map_err(|error| {
        Failure::failed(Diagnostic::error(format!("process {} does not say how it is: {error}", instance.pid)))
    })
}

/// Enough to choose one of several.
fn brief(status: &Value) -> Value {
    json!({"pid": status["pid"], "version": status["version"], "uptimeSeconds": status["uptimeSeconds"],
           "config": status["config"]})
}

fn list(all: &[Value]) {
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|status| {
            let config = status["config"].as_str().unwrap_or("none").to_owned();
            vec![text(&status["pid"]), text(&status["version"]), age(&status["uptimeSeconds"]), config]
        })
        .collect();
    output::out(&table::render(&["PID", "VERSION", "UP", "CONFIG"], &rows));
    output::err("several run: `proxy status --pid PID` says more of one");
}

fn told(status: &Value) -> String {
    let mut lines = vec![
        format!(
            "proxy {}, process {}, up {}",
            text(&status["version"]),
            text(&status["pid"]),
            age(&status["uptimeSeconds"])
        ),
        format!("config: {}", status["config"].as_str().unwrap_or("none")),
        format!("script: {}, {}", text(&status["script"]), published(&status["published"])),
        match &status["lastReload"] {
            Value::Null => "last reload: none".to_owned(),
            reload => format!("last reload: {}, {}", text(&reload["at"]), text(&reload["what"])),
        },
        String::new(),
        servers(&status["servers"]),
        String::new(),
        clients(&status["clients"]),
    ];
    for (heading, key) in [
        ("the config file as it is now is not in force", "configErrors"),
        ("the session script as it is now does not work", "scriptErrors"),
        ("extensions that are not in force as they are now", "extensionErrors"),
    ] {
        let errors = status[key].as_array().map(Vec::as_slice).unwrap_or_default();
        if !errors.is_empty() {
            lines.push(String::new());
            lines.push(format!("{heading}:"));
            lines.extend(errors.iter().map(|error| text(error).trim_end().to_owned()));
        }
    }
    for failed in status["userErrors"].as_array().into_iter().flatten() {
        lines.push(String::new());
        lines.push(format!("the session script does not work for the user `{}`:", cell(&failed["user"])));
        lines.push(text(&failed["error"]).trim_end().to_owned());
    }
    lines.join("\n")
}

fn published(counts: &Value) -> String {
    let parts = [("tools", "tool"), ("resources", "resource"), ("prompts", "prompt")];
    let counted = parts.map(|(key, noun)| (counts[key].as_u64().unwrap_or(0), noun));
    let shown = counted.iter().filter(|(number, noun)| *number > 0 || *noun == "tool");
    shown.map(|(number, noun)| table::count(usize::try_from(*number).unwrap_or(0), noun)).collect::<Vec<_>>().join(", ")
}

fn servers(servers: &Value) -> String {
    const COLUMNS: [(&str, &str); 12] = [
        ("SERVER", "/name"),
        ("STATUS", "/status"),
        ("KIND", "/kind"),
        ("VERSION", "/version"),
        ("PROTOCOL", "/protocolVersion"),
        ("TOOLS", "/tools"),
        ("CALLS", "/calls"),
        ("FAILED", "/failedCalls"),
        ("CALLS/MIN", "/lastMinute/calls"),
        ("FAILED/MIN", "/lastMinute/failedCalls"),
        ("RESTARTS", "/restarts"),
        ("ERROR", "/error"),
    ];
    let rows = servers.as_array().map(Vec::as_slice).unwrap_or_default();
    let value = |server: &Value, at: &str| cell(server.pointer(at).unwrap_or(&Value::Null));
    let rows: Vec<Vec<String>> = rows.iter().map(|server| COLUMNS.map(|(_, at)| value(server, at)).to_vec()).collect();
    table::render(&COLUMNS.map(|(heading, _)| heading), &rows)
}

fn clients(clients: &Value) -> String {
    let rows = clients.as_array().map(Vec::as_slice).unwrap_or_default();
    if rows.is_empty() {
        return "no client has a session".to_owned();
    }
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|client| {
            let mut row = ["name", "version", "protocolVersion", "user"].map(|key| cell(&client[key])).to_vec();
            row.push(age(&client["connectedSeconds"]));
            row
        })
        .collect();
    table::render(&["CLIENT", "VERSION", "PROTOCOL", "USER", "CONNECTED"], &rows)
}

/// What others said of themselves, fit for a terminal.
fn cell(value: &Value) -> String {
    table::cut(table::first_line(&text(value)), 200).chars().filter(|letter| !letter.is_control()).collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// `5s`, `3m 5s`, `2h 3m`, `4d 2h`.
fn age(seconds: &Value) -> String {
    let seconds = seconds.as_u64().unwrap_or(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, _, _) => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_two_units() {
        let told: Vec<String> = [5, 185, 7380, 352_800].iter().map(|seconds| age(&json!(seconds))).collect();
        assert_eq!(told, ["5s", "3m 5s", "2h 3m", "4d 2h"]);
    }
}
