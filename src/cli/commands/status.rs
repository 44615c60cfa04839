//! `proxy status`: shows the status of a running `proxy serve`.

use clap::Args;
use serde_json::{Value, json};

use super::instance;
use super::profile_rows::{self, published};
use crate::cli::age::age;
use crate::cli::failure::CommandFailure;
use crate::cli::{output, query, table};
use proxy_base::control::Instance;
use proxy_base::diagnostic::Diagnostic;
use proxy_base::foreign_text::visible;
use proxy_code_mode::sandbox::JAIL_HINT;
use proxy_model::operator_api::{
    ClientStatus, IssuerStatus, ProxyStatus, ReplicaStatus, RowStatus, ServerProcess, ServerStatus, ThreadStatus,
};

/// What is said of a server whose circuit breaker is open.
const REFUSING: &str = "calls are refused after repeated failures, until `circuitBreaker.cooldown` is over";

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Process id, if several proxies are running
    #[arg(long)]
    pid: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Only report whether the proxy accepts work: exit code 0 if it is ready, else 1
    #[arg(long, conflicts_with = "json")]
    ready: bool,
    /// Show all proxies that share the store of this one
    #[arg(long, conflicts_with = "ready")]
    replicas: bool,
}

pub(super) fn run(args: &StatusArgs) -> Result<(), CommandFailure> {
    if args.replicas {
        return replicas(args);
    }
    let mut running = instance::all(args.pid)?;
    if args.ready {
        return ready(&running);
    }
    if running.len() > 1
        && let Some(here) = instance::serving_here(&running)
    {
        output::status_line(&format!(
            "{} are running: showing the one that serves the current config; `--pid PID` shows another",
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

/// The proxies that share the store.
fn replicas(args: &StatusArgs) -> Result<(), CommandFailure> {
    let list = query::replicas(&instance::one(args.pid)?)?;
    if args.json {
        output::json(&list);
        return Ok(());
    }
    if list.replicas.is_empty() {
        output::out("this proxy has no replicas: they need `serve.stateKeys` and a `store` in Redis");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = list.replicas.iter().map(|replica| replica_row(replica, &list.home)).collect();
    output::out(&table::render(&["HOME", "VERSION", "HOST", "PID", "SERVES", "UP", "SESSIONS", "SEEN"], &rows));
    Ok(())
}

fn replica_row(replica: &ReplicaStatus, here: &str) -> Vec<String> {
    let home = if replica.home == here { format!("{} (this process)", replica.home) } else { replica.home.clone() };
    if replica.has_other_keys {
        let mut row = vec![home, "has other `stateKeys`".to_owned()];
        row.resize(8, String::new());
        return row;
    }
    vec![
        home,
        cell(&replica.version),
        cell(&replica.host),
        replica.pid.to_string(),
        cell(&replica.address),
        age(replica.uptime_seconds),
        replica.sessions.to_string(),
        format!("{} ago", age(replica.seen_seconds_ago)),
    ]
}

/// The health check of a container.
fn ready(running: &[Instance]) -> Result<(), CommandFailure> {
    let health = running.iter().map(|one| ask(one).map(|status| (one.pid, status.health)));
    let health = health.collect::<Result<Vec<_>, _>>()?;
    match health.iter().find(|(_, health)| health != "ready") {
        None => {
            output::out("ready");
            Ok(())
        }
        Some((pid, health)) => {
            let word = if health.is_empty() { "of an older version" } else { health };
            Err(CommandFailure::failed(Diagnostic::error(format!("the proxy (process {pid}) is {word}"))))
        }
    }
}

fn ask(instance: &Instance) -> Result<ProxyStatus, CommandFailure> {
    query::status(instance).map_err(|failure| {
        let (_, reasons) = failure.into_parts();
        let reason: Vec<String> = reasons.into_iter().map(|reason| reason.message).collect();
        let message = format!("cannot get the status of process {}: {}", instance.pid, reason.join("; "));
        CommandFailure::failed(Diagnostic::error(message))
    })
}

/// The members that help to choose one of several instances.
fn brief(status: &ProxyStatus) -> Value {
    json!({"pid": status.pid, "version": status.version, "uptimeSeconds": status.uptime_seconds,
           "config": status.config, "folder": status.folder, "transport": status.transport,
           "address": status.address})
}

fn list(all: &[ProxyStatus]) {
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|status| {
            vec![
                status.pid.to_string(),
                text(&status.version),
                age(status.uptime_seconds),
                endpoint(status),
                config(status),
            ]
        })
        .collect();
    output::out(&table::render(&["PID", "VERSION", "UP", "SERVES", "CONFIG"], &rows));
    output::err("several proxies are running: use `proxy status --pid PID` for details");
}

fn render(status: &ProxyStatus) -> String {
    let mut lines = vec![
        format!("proxy {}, process {}, up {}", text(&status.version), status.pid, age(status.uptime_seconds)),
        match &status.profile {
            None => format!("serves: {}", endpoint(status)),
            Some(profile) => format!("serves: {}, profile `{}`", endpoint(status), cell(profile)),
        },
        format!("folder: {}", text(&status.folder)),
        format!("config: {}", config(status)),
        format!("script: {}, {}", option(&status.script), published(&status.published)),
        match &status.last_reload {
            None => "last reload: none".to_owned(),
            Some(reload) => format!("last reload: {} ago, {}", age(reload.seconds_ago), text(&reload.what)),
        },
        String::new(),
        servers(&status.servers),
        String::new(),
        clients(&status.clients),
    ];
    if !status.profiles.is_empty() {
        lines.push(String::new());
        lines.push(profile_rows::render(&status.profiles));
    }
    if !status.rows.is_empty() {
        lines.push(String::new());
        lines.push(rows(&status.rows));
    }
    if status.threads.len() > 1 {
        lines.push(String::new());
        lines.push(threads(&status.threads));
    }
    for issuer in &status.issuers {
        lines.push(String::new());
        lines.extend(issuer_lines(issuer));
    }
    if let Some(jail) = status.jail.as_ref().filter(|jail| !jail.missing.is_empty()) {
        lines.push(String::new());
        lines.push(format!("warning: code mode: the system refuses {}; {JAIL_HINT}", visible(&jail.missing)));
    }
    if let Some(audit) = &status.audit {
        let head = audit.head.as_deref().unwrap_or("nothing written yet");
        lines.push(String::new());
        lines.push(format!("audit log: {}", text(&audit.file)));
        lines.push(format!("  seq {}, {}", audit.seq, visible(head)));
        if let Some(error) = &audit.error {
            lines.push(format!("  error: it cannot be written: {}", text(error)));
        }
    }
    for (heading, errors) in [
        ("the current config file has errors and is not in use", &status.config_errors),
        ("the current session script fails and is not in use", &status.script_errors),
        ("these extensions have errors and are not in use", &status.extension_errors),
    ] {
        if !errors.is_empty() {
            lines.push(String::new());
            lines.push(format!("{heading}:"));
            lines.extend(errors.iter().map(|error| text(error).trim_end().to_owned()));
        }
    }
    for failed in &status.user_errors {
        lines.push(String::new());
        lines.push(format!("the session script fails for user `{}`:", cell(&failed.user)));
        lines.push(text(&failed.error).trim_end().to_owned());
    }
    lines.extend(profile_rows::errors(&status.profiles));
    lines.join("\n")
}

/// The state of an issuer whose tokens are accepted.
fn issuer_lines(issuer: &IssuerStatus) -> Vec<String> {
    let state = if issuer.ready {
        let fetched = age(issuer.fetched_seconds_ago.unwrap_or(0));
        format!("{}, fetched {fetched} ago", table::count(issuer.keys, "key"))
    } else {
        "no keys: requests with its tokens get 503".to_owned()
    };
    let mut lines = vec![format!("issuer {}: {state}", text(&issuer.issuer))];
    if let Some(error) = &issuer.error {
        lines.push(format!("  error: {}", text(error)));
    }
    if issuer.omitted_groups > 0 {
        lines.push(format!("  {} tokens had no groups because there are too many", issuer.omitted_groups));
    }
    if issuer.odd_claims > 0 {
        lines.push(format!("  {} claims were ignored: neither a string nor a list of strings", issuer.odd_claims));
    }
    lines
}

fn config(status: &ProxyStatus) -> String {
    status.config.as_deref().map_or_else(|| "none".to_owned(), text)
}

/// `stdio`, or the address.
fn endpoint(status: &ProxyStatus) -> String {
    option(if status.address.is_some() { &status.address } else { &status.transport })
}

/// Two tables, each narrow enough for 80 columns, and the errors.
fn servers(servers: &[ServerStatus]) -> String {
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let now: Vec<Vec<String>> = servers
        .iter()
        .map(|server| {
            let (process, up) = processes(server.processes.as_deref().unwrap_or_default());
            vec![
                cell(&server.name),
                cell(server.state()),
                process,
                up,
                number(server.restarts.flatten()),
                server.tools.to_string(),
                number(server.calls),
                number(server.failed_calls),
            ]
        })
        .collect();
    let more: Vec<Vec<String>> = servers
        .iter()
        .map(|server| {
            let minute = server.last_minute.clone().unwrap_or_default();
            let words = [&server.name, &server.kind, &server.version, &server.protocol_version];
            let mut row: Vec<String> = words.into_iter().map(|word| cell(word)).collect();
            row.extend([minute.calls.to_string(), minute.failed_calls.to_string()]);
            row
        })
        .collect();
    let mut parts = vec![
        table::render(&["SERVER", "STATUS", "PROCESS", "UP", "RESTARTS", "TOOLS", "CALLS", "FAILED"], &now),
        String::new(),
        table::render(&["SERVER", "KIND", "VERSION", "PROTOCOL", "CALLS/MIN", "FAILED/MIN"], &more),
    ];
    parts.extend(resting(servers).map(|line| format!("\n{line}")));
    let refusing = servers.iter().filter(|server| server.breaker_open == Some(true));
    parts.extend(refusing.map(|server| format!("\n{}: {REFUSING}", cell(&server.name))));
    let errors = servers.iter().filter(|server| !server.error.is_empty());
    // The complete error of a failed server: a cell would show only its first line.
    let errors: Vec<String> =
        errors.map(|server| format!("{}: {}", cell(&server.name), text(&server.error).trim_end())).collect();
    if !errors.is_empty() {
        parts.extend([String::new(), errors.join("\n")]);
    }
    let drift: Vec<String> = servers.iter().flat_map(lock_lines).collect();
    if !drift.is_empty() {
        parts.extend([String::new(), drift.join("\n")]);
    }
    parts.join("\n")
}

/// What it saves that servers rest; `None` if none does.
fn resting(servers: &[ServerStatus]) -> Option<String> {
    let resting: Vec<_> = servers.iter().filter_map(|server| server.rest.as_ref()).collect();
    let measured: Vec<u64> = resting.iter().filter_map(|rest| rest.saved_bytes).collect();
    let rest = if resting.len() == 1 { "rests" } else { "rest" };
    let what = format!("{} {rest} until needed", table::count(resting.len(), "server"));
    match (resting.len(), measured.len()) {
        (0, _) => None,
        (_, 0) => Some(what),
        (all, some) => {
            let of = if some < all { format!(" ({some} of them measured)") } else { String::new() };
            Some(format!("{what}, which saves {} MiB{of}", measured.iter().sum::<u64>() >> 20))
        }
    }
}

/// What of a server is not as the lock approves.
fn lock_lines(server: &ServerStatus) -> Vec<String> {
    let Some(lock) = server.lock.as_ref().filter(|lock| !lock.differences.is_empty()) else { return Vec::new() };
    let name = cell(&server.name);
    let first = format!("{name} differs from the lock ({}); `proxy lock --check {name}` shows how:", cell(&lock.mode));
    std::iter::once(first).chain(lock.differences.iter().map(|line| format!("  {}", text(line)))).collect()
}

/// The process of a server and how long it has been running. Of several, the oldest, and how many there are more.
fn processes(processes: &[ServerProcess]) -> (String, String) {
    match processes {
        [] => (String::new(), String::new()),
        [only] => (only.pid.to_string(), age(only.uptime_seconds)),
        [first, others @ ..] => (format!("{} +{}", first.pid, others.len()), age(first.uptime_seconds)),
    }
}

fn clients(clients: &[ClientStatus]) -> String {
    if clients.is_empty() {
        return "no client sessions".to_owned();
    }
    let rows: Vec<Vec<String>> = clients
        .iter()
        .map(|client| {
            let words = [&client.name, &client.version, &client.protocol_version, &client.user];
            let mut row: Vec<String> = words.into_iter().map(|word| cell(word)).collect();
            row.push(format!("{} ago", age(client.connected_seconds)));
            row
        })
        .collect();
    table::render(&["CLIENT", "VERSION", "PROTOCOL", "USER", "CONNECTED"], &rows)
}

/// What clients of each row of limits get.
fn rows(rows: &[RowStatus]) -> String {
    let lines = rows.iter().flat_map(|row| {
        let tools = table::count(row.lowered, "tool");
        let first = format!("clients of the row {} get {tools} in another form", cell(&row.row));
        std::iter::once(first).chain(row.notes.iter().map(|note| format!("  {}", text(note))))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn threads(threads: &[ThreadStatus]) -> String {
    let rows: Vec<Vec<String>> = (1..)
        .zip(threads)
        .map(|(number, thread): (usize, _)| {
            vec![
                number.to_string(),
                thread.connections.to_string(),
                thread.running.to_string(),
                thread.requests.to_string(),
                format!("{:.1} s", thread.busy_seconds),
            ]
        })
        .collect();
    table::render(&["THREAD", "CONNECTIONS", "RUNNING", "REQUESTS", "BUSY"], &rows)
}

/// A text for a table cell.
fn cell(value: &str) -> String {
    table::cut(table::first_line(&text(value)), 200)
}

/// An escaped text, because clients and servers choose some of them.
fn text(value: &str) -> String {
    visible(value).into_owned()
}

fn option(value: &Option<String>) -> String {
    value.as_deref().map(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_resting_saves() {
        let server = |rest: Value| json!({"name": "a", "status": "resting", "rest": rest});
        let shown = |servers: &[Value]| {
            let servers: Vec<ServerStatus> =
                servers.iter().map(|server| serde_json::from_value(server.clone()).unwrap()).collect();
            resting(&servers).unwrap_or_default()
        };
        let stopped = json!({"stoppedSecondsAgo": 5, "savedBytes": 70 << 20});
        let unstarted = json!({"savedBytes": null});
        let all = [server(stopped.clone()), server(stopped.clone()), server(unstarted.clone())];
        assert_eq!(shown(&all), "3 servers rest until needed, which saves 140 MiB (2 of them measured)");
        assert_eq!(shown(&all[..1]), "1 server rests until needed, which saves 70 MiB");
        assert_eq!(shown(&all[2..]), "1 server rests until needed");
        assert_eq!(shown(&[json!({"name": "a", "status": "ready"})]), "");
    }

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
        let shown = render(&serde_json::from_value(status).unwrap());
        for line in shown.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(shown.contains("4194304 +1  3 min") && shown.contains("2 h ago"), "{shown}");
    }
}
