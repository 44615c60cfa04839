//! `proxy status`: shows the status of a running `proxy serve`.

use clap::Args;
use serde_json::{Value, json};

use crate::cli::failure::CommandFailure;
use crate::cli::setup;
use crate::cli::{output, query, table};
use crate::control::{Instance, instances};
use crate::diagnostic::Diagnostic;
use crate::foreign_text::visible;
use crate::sandbox::JAIL_HINT;

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Process id, if several proxies are running
    #[arg(long)]
    pid: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &StatusArgs) -> Result<(), CommandFailure> {
    let mut running = instances(&setup::control_folder()).map_err(|error| {
        let problem = Diagnostic::error(format!("cannot look for running proxies: {error}"));
        CommandFailure::failed(problem.hint("remove the folder, and start the proxies again"))
    })?;
    if let Some(pid) = args.pid {
        running.retain(|instance| instance.pid == pid);
    }
    match running.as_slice() {
        [] => Err(CommandFailure::failed(not_running(args.pid))),
        [one] => {
            let status = ask(one)?;
            if args.json {
                output::json(&status)
            } else {
                output::out(&render(&status))
            }
            Ok(())
        }
        several => {
            let all = several.iter().map(ask).collect::<Result<Vec<_>, _>>()?;
            if args.json {
                output::json(&all.iter().map(brief).collect::<Vec<_>>())
            } else {
                list(&all)
            }
            Ok(())
        }
    }
}

fn not_running(pid: Option<u32>) -> Diagnostic {
    match pid {
        Some(pid) => Diagnostic::error(format!("no `proxy serve` of this user is running as process {pid}"))
            .hint("`proxy status` without `--pid` lists the running ones"),
        None => Diagnostic::error("no `proxy serve` of this user is running")
            .hint("start one with `proxy serve`, or run `proxy list-servers --live` to check the configured servers"),
    }
}

fn ask(instance: &Instance) -> Result<Value, CommandFailure> {
    query::status(instance).map_err(|failure| {
        let (_, reasons) = failure.into_parts();
        let reason: Vec<String> = reasons.into_iter().map(|reason| reason.message).collect();
        let message = format!("cannot get the status of process {}: {}", instance.pid, reason.join("; "));
        CommandFailure::failed(Diagnostic::error(message))
    })
}

/// The members that help to choose one of several instances.
fn brief(status: &Value) -> Value {
    json!({"pid": status["pid"], "version": status["version"], "uptimeSeconds": status["uptimeSeconds"],
           "config": status["config"]})
}

fn list(all: &[Value]) {
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|status| {
            vec![text(&status["pid"]), text(&status["version"]), age(&status["uptimeSeconds"]), config(status)]
        })
        .collect();
    output::out(&table::render(&["PID", "VERSION", "UP", "CONFIG"], &rows));
    output::err("several proxies are running: use `proxy status --pid PID` for details");
}

fn render(status: &Value) -> String {
    let mut lines = vec![
        format!(
            "proxy {}, process {}, up {}",
            text(&status["version"]),
            text(&status["pid"]),
            age(&status["uptimeSeconds"])
        ),
        format!("config: {}", config(status)),
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
    if let Some(missing) = status["jail"]["missing"].as_str().filter(|missing| !missing.is_empty()) {
        lines.push(String::new());
        lines.push(format!("warning: code mode: the system refuses {}; {JAIL_HINT}", visible(missing)));
    }
    for (heading, key) in [
        ("the current config file has errors and is not in use", "configErrors"),
        ("the current session script fails and is not in use", "scriptErrors"),
        ("these extensions have errors and are not in use", "extensionErrors"),
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
        lines.push(format!("the session script fails for user `{}`:", cell(&failed["user"])));
        lines.push(text(&failed["error"]).trim_end().to_owned());
    }
    lines.join("\n")
}

fn config(status: &Value) -> String {
    if status["config"].is_string() { text(&status["config"]) } else { "none".to_owned() }
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
        return "no client sessions".to_owned();
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

/// A value for a table cell.
fn cell(value: &Value) -> String {
    table::cut(table::first_line(&text(value)), 200)
}

/// A value as harmless text: clients and servers choose some of them.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => visible(text).into_owned(),
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
    fn an_age_has_at_most_two_units() {
        let shown: Vec<String> = [5, 185, 7380, 352_800].iter().map(|seconds| age(&json!(seconds))).collect();
        assert_eq!(shown, ["5s", "3m 5s", "2h 3m", "4d 2h"]);
    }
}
