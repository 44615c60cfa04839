//! A call, or another event, on one line.

use jiff::Timestamp;

use crate::admin::{CallSummary, LiveEvent, RefusalSummary};
use crate::cli::logging::{full_time, short_time};
use crate::cli::output::{is_terminal, one_line, stdout_colour};

/// How much of the end of an id is shown. `proxy calls` finds a call by it.
const SHOWN_ID: usize = 8;

/// Time, outcome, milliseconds, id, what was called, the server, the user, and what went wrong.
pub(super) fn of_call(call: &CallSummary) -> String {
    let mark = format!("{:<10}", call.outcome);
    let mark = if stdout_colour() { format!("\x1b[{}m{mark}\x1b[0m", colour(&call.outcome)) } else { mark };
    let id = call.id.get(call.id.len().saturating_sub(SHOWN_ID)..).unwrap_or(&call.id);
    let mut line = format!("{} {mark} {:>9}  {}  {}", time(&call.at), milliseconds(call.ms), one_line(id), what(call));
    if let Some(server) = servers(call) {
        line += &format!(" ({})", one_line(&server));
    }
    line += &format!(" {}", one_line(&call.user));
    if let Some(reason) = reason(call) {
        line += &format!(": {}", one_line(&reason));
    }
    line
}

/// `tools/call new_issue`.
pub(super) fn what(call: &CallSummary) -> String {
    let method = one_line(&call.method);
    call.name.as_ref().map_or_else(|| method.to_string(), |name| format!("{method} {}", one_line(name)))
}

/// The server behind the item, or the servers that its script called.
fn servers(call: &CallSummary) -> Option<String> {
    let mut names: Vec<&str> = call.server_calls.iter().map(|call| call.server.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { call.server.clone() } else { Some(names.join(", ")) }
}

fn reason(call: &CallSummary) -> Option<String> {
    call.refusal.as_ref().map(refusal).or_else(|| call.error.clone())
}

/// `policy.star:41: too many calls`.
pub(super) fn refusal(refusal: &RefusalSummary) -> String {
    match &refusal.at {
        // A refusal by policies names them already.
        Some(at) if !refusal.why.ends_with(at) => format!("{at}: {}", refusal.why),
        _ => refusal.why.clone(),
    }
}

pub(super) fn milliseconds(ms: f64) -> String {
    if ms < 10.0 { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") }
}

fn time(at: &str) -> String {
    match at.parse::<Timestamp>() {
        Ok(at) if is_terminal() => short_time(at),
        Ok(at) => full_time(at),
        Err(_) => one_line(at).into_owned(),
    }
}

/// The number of a colour of the terminal: green, yellow or red.
fn colour(outcome: &str) -> u8 {
    match outcome {
        "ok" => 32,
        "asked" | "cancelled" => 33,
        _ => 31,
    }
}

/// Events other than calls.
pub(super) fn other_event(event: &LiveEvent) -> Option<String> {
    match event {
        LiveEvent::Server { name, status, error } if error.is_empty() => {
            Some(format!("server {}: {}", one_line(name), one_line(status)))
        }
        LiveEvent::Server { name, status, error } => {
            Some(format!("server {}: {}: {}", one_line(name), one_line(status), one_line(error)))
        }
        LiveEvent::Reload { error: Some(error), .. } => Some(format!("reload failed: {}", one_line(error))),
        LiveEvent::Reload { tools, error: None } => Some(format!("reloaded: {tools} tools published")),
        LiveEvent::Call(_) | LiveEvent::Dropped(_) => None,
    }
}
