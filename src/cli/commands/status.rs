//! `proxy status`: shows the status of a running `proxy serve`.

use clap::Args;
use serde_json::{Value, json};

use super::instance;
use crate::cli::age::age;
use crate::cli::failure::CommandFailure;
use crate::cli::{output, query, table};
use proxy_base::control::Instance;
use proxy_base::diagnostic::Diagnostic;
use proxy_base::foreign_text::visible;
use proxy_code_mode::sandbox::JAIL_HINT;

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Process id, if several proxies are running
    #[arg(long)]
    pid: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Only say whether the proxy takes work: exit code 0 if it is ready, else 1
    #[arg(long, conflicts_with = "json")]
    ready: bool,
}

pub(super) fn run(args: &StatusArgs) -> Result<(), CommandFailure> {
    let mut running = instance::all(args.pid)?;
    if args.ready {
        return ready(&running);
    }
    if running.len() > 1
        && let Some(here) = instance::serving_here(&running)
    {
        output::status_line(&format!(
            "{} are running: this is the one that serves the config that is used here; `--pid PID` shows another",
            table::count(running.len(), "proxy")
        ));
        running = vec![here];
    }
    match running.as_slice() {
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

/// The health check of a container.
fn ready(running: &[Instance]) -> Result<(), CommandFailure> {
    let health = running.iter().map(|one| ask(one).map(|status| (one.pid, status["health"].clone())));
    let health = health.collect::<Result<Vec<_>, _>>()?;
    match health.iter().find(|(_, health)| health != "ready") {
        None => {
            output::out("ready");
            Ok(())
        }
        Some((pid, health)) => {
            let word = health.as_str().unwrap_or("of an older version");
            Err(CommandFailure::failed(Diagnostic::error(format!("the proxy (process {pid}) is {word}"))))
        }
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
           "config": status["config"], "folder": status["folder"], "transport": status["transport"],
           "address": status["address"]})
}

fn list(all: &[Value]) {
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|status| {
            vec![
                text(&status["pid"]),
                text(&status["version"]),
                ago(&status["uptimeSeconds"]),
                endpoint(status),
                config(status),
            ]
        })
        .collect();
    output::out(&table::render(&["PID", "VERSION", "UP", "SERVES", "CONFIG"], &rows));
    output::err("several proxies are running: use `proxy status --pid PID` for details");
}

fn render(status: &Value) -> String {
    let mut lines = vec![
        format!(
            "proxy {}, process {}, up {}",
            text(&status["version"]),
            text(&status["pid"]),
            ago(&status["uptimeSeconds"])
        ),
        format!("serves: {}", endpoint(status)),
        format!("folder: {}", text(&status["folder"])),
        format!("config: {}", config(status)),
        format!("script: {}, {}", text(&status["script"]), published(&status["published"])),
        match &status["lastReload"] {
            Value::Null => "last reload: none".to_owned(),
            reload => format!("last reload: {} ago, {}", ago(&reload["secondsAgo"]), text(&reload["what"])),
        },
        String::new(),
        servers(&status["servers"]),
        String::new(),
        clients(&status["clients"]),
    ];
    for issuer in status["issuers"].as_array().into_iter().flatten() {
        lines.push(String::new());
        lines.extend(issuer_lines(issuer));
    }
    if let Some(missing) = status["jail"]["missing"].as_str().filter(|missing| !missing.is_empty()) {
        lines.push(String::new());
        lines.push(format!("warning: code mode: the system refuses {}; {JAIL_HINT}", visible(missing)));
    }
    if let Some(seq) = status["audit"]["seq"].as_u64() {
        let audit = &status["audit"];
        let head = audit["head"].as_str().unwrap_or("nothing written yet");
        lines.push(String::new());
        lines.push(format!("audit log: {}", text(&audit["file"])));
        lines.push(format!("  seq {seq}, {}", visible(head)));
        if audit["error"].is_string() {
            lines.push(format!("  error: it cannot be written: {}", text(&audit["error"])));
        }
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

/// The state of an issuer whose tokens are accepted.
fn issuer_lines(issuer: &Value) -> Vec<String> {
    let keys = usize::try_from(issuer["keys"].as_u64().unwrap_or(0)).unwrap_or(0);
    let state = match issuer["ready"].as_bool() {
        Some(true) => format!("{}, fetched {} ago", table::count(keys, "key"), ago(&issuer["fetchedSecondsAgo"])),
        _ => "no keys: requests with its tokens get 503".to_owned(),
    };
    let mut lines = vec![format!("issuer {}: {state}", text(&issuer["issuer"]))];
    if issuer["error"].is_string() {
        lines.push(format!("  error: {}", text(&issuer["error"])));
    }
    let count = |key: &str| issuer[key].as_u64().filter(|count| *count > 0);
    if let Some(count) = count("omittedGroups") {
        lines.push(format!("  {count} tokens had no groups because there are too many"));
    }
    if let Some(count) = count("oddClaims") {
        lines.push(format!("  {count} claims were ignored: neither a text nor a list of texts"));
    }
    lines
}

fn config(status: &Value) -> String {
    if status["config"].is_string() { text(&status["config"]) } else { "none".to_owned() }
}

/// `stdio`, or the address.
fn endpoint(status: &Value) -> String {
    if status["address"].is_string() { text(&status["address"]) } else { text(&status["transport"]) }
}

fn published(counts: &Value) -> String {
    let parts = [("tools", "tool"), ("resources", "resource"), ("prompts", "prompt")];
    let counted = parts.map(|(key, noun)| (counts[key].as_u64().unwrap_or(0), noun));
    let shown = counted.iter().filter(|(number, noun)| *number > 0 || *noun == "tool");
    shown.map(|(number, noun)| table::count(usize::try_from(*number).unwrap_or(0), noun)).collect::<Vec<_>>().join(", ")
}

/// Two tables, each narrow enough for 80 columns, and the errors.
fn servers(servers: &Value) -> String {
    let servers = servers.as_array().map(Vec::as_slice).unwrap_or_default();
    let now: Vec<Vec<String>> = servers
        .iter()
        .map(|server| {
            let (process, up) = processes(&server["processes"]);
            let mut row = vec![cell(&server["name"]), cell(&server["status"]), process, up];
            row.extend(["restarts", "tools", "calls", "failedCalls"].map(|key| cell(&server[key])));
            row
        })
        .collect();
    let more: Vec<Vec<String>> = servers
        .iter()
        .map(|server| {
            let mut row = ["name", "kind", "version", "protocolVersion"].map(|key| cell(&server[key])).to_vec();
            row.extend(["calls", "failedCalls"].map(|key| cell(&server["lastMinute"][key])));
            row
        })
        .collect();
    let mut parts = vec![
        table::render(&["SERVER", "STATUS", "PROCESS", "UP", "RESTARTS", "TOOLS", "CALLS", "FAILED"], &now),
        String::new(),
        table::render(&["SERVER", "KIND", "VERSION", "PROTOCOL", "CALLS/MIN", "FAILED/MIN"], &more),
    ];
    let errors = servers.iter().filter(|server| server["error"].as_str().is_some_and(|error| !error.is_empty()));
    // All that a dead server has said: a cell would have its first line.
    let errors: Vec<String> =
        errors.map(|server| format!("{}: {}", cell(&server["name"]), text(&server["error"]).trim_end())).collect();
    if !errors.is_empty() {
        parts.extend([String::new(), errors.join("\n")]);
    }
    parts.join("\n")
}

/// The process of a server and how long it has been running. Of several, the oldest, and how many there are more.
fn processes(processes: &Value) -> (String, String) {
    match processes.as_array().map(Vec::as_slice).unwrap_or_default() {
        [] => (String::new(), String::new()),
        [only] => (text(&only["pid"]), ago(&only["uptimeSeconds"])),
        [first, others @ ..] => (format!("{} +{}", text(&first["pid"]), others.len()), ago(&first["uptimeSeconds"])),
    }
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
            row.push(format!("{} ago", ago(&client["connectedSeconds"])));
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

/// `5 s`, `3 min`, `2 h`.
fn ago(seconds: &Value) -> String {
    age(seconds.as_u64().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_into_80_columns() {
        let server = json!({
            "name": "a-server-of-17-chr", "status": "starting", "kind": "extension", "version": "2025.11.25",
            "protocolVersion": "2025-11-25", "tools": 1234, "calls": 123_456, "failedCalls": 1234, "restarts": 12,
            "lastMinute": {"calls": 1234, "failedCalls": 12}, "error": "",
            "processes": [{"pid": 4_194_304, "uptimeSeconds": 200}, {"pid": 12, "uptimeSeconds": 1}],
        });
        let client = json!({"name": "Visual Studio Code", "version": "1.102.1", "protocolVersion": "2025-11-25",
                            "user": "somebody@example.com", "connectedSeconds": 7300});
        let status = json!({"version": "0.1.0", "pid": 1, "uptimeSeconds": 200, "transport": "stdio", "folder": "/home",
                            "servers": [server], "clients": [client]});
        let shown = render(&status);
        for line in shown.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(shown.contains("4194304 +1  3 min") && shown.contains("2 h ago"), "{shown}");
    }
}
