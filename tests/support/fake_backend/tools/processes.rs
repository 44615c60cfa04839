//! Tools that change the world around them: processes, the list of tools, those who listen.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::call::Call;
use crate::catalog;

/// Starts a process that outlives this one unless the whole group is ended. Holding stdout keeps the pipe open.
pub fn spawn_grandchild(call: &Call) {
    let hold_stdout: bool = call.argument("hold_stdout").unwrap_or(false);
    let stdout = if hold_stdout { Stdio::inherit() } else { Stdio::null() };
    let spawned = Command::new("sleep").arg("1000").stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null()).spawn();
    match spawned {
        Ok(child) => {
            let pids = json!({"pid": std::process::id(), "grandchild": child.id()});
            call.structured(&pids.to_string());
        }
        Err(problem) => call.text(&format!("cannot start a process: {problem}")),
    }
}

pub fn add_tool(call: &Call) {
    let name = call.argument::<String>("name").unwrap_or_else(|| "added".to_owned());
    call.shared.lock().added_tools.push(catalog::tool(&name, "Added while running.", ""));
    call.shared.announce("notifications/tools/list_changed", "{}");
    call.text(&format!("added {name}"));
}

/// Sends any notification: on the stream of this call, or to those who listen.
pub fn notify(call: &Call) {
    let method = call.argument::<String>("method").unwrap_or_else(|| "notifications/unknown".to_owned());
    let params = call.raw_argument("params").unwrap_or("{}");
    match call.argument::<String>("to").as_deref() {
        Some("listeners") => call.shared.announce(&method, params),
        _ => call.request.outbox.notify(&method, params),
    }
    call.text("told");
}

pub fn end_streams(call: &Call) {
    call.shared.end_streams();
    call.text("ended");
}
