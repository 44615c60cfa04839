//! The running proxies that a command may ask.

use crate::cli::failure::CommandFailure;
use crate::cli::setup;
use crate::control::{Instance, instances};
use crate::diagnostic::Diagnostic;

/// All running proxies of this user, or the one with this process id. Fails if there is none.
pub(super) fn all(pid: Option<u32>) -> Result<Vec<Instance>, CommandFailure> {
    let mut running = instances(&setup::control_folder()).map_err(cannot_look)?;
    if let Some(pid) = pid {
        running.retain(|instance| instance.pid == pid);
    }
    if running.is_empty() { Err(CommandFailure::failed(not_running(pid))) } else { Ok(running) }
}

/// The only running proxy, or the one with this process id.
pub(super) fn one(pid: Option<u32>) -> Result<Instance, CommandFailure> {
    let running = all(pid)?;
    match running.as_slice() {
        [only] => Ok(only.clone()),
        several => Err(several_running("several proxies are running", several.iter().map(|instance| instance.pid))),
    }
}

/// The user has to choose one of these.
pub(super) fn several_running(problem: &str, pids: impl Iterator<Item = u32>) -> CommandFailure {
    let pids: Vec<String> = pids.map(|pid| pid.to_string()).collect();
    CommandFailure::usage_with_hint(format!("{problem}: {}", pids.join(", ")), "choose one with `--pid PID`")
}

fn cannot_look(error: std::io::Error) -> CommandFailure {
    let problem = Diagnostic::error(format!("cannot look for running proxies: {error}"));
    CommandFailure::failed(problem.hint("remove the folder, and start the proxies again"))
}

fn not_running(pid: Option<u32>) -> Diagnostic {
    match pid {
        Some(pid) => Diagnostic::error(format!("no `proxy serve` of this user is running as process {pid}"))
            .hint("`proxy status` without `--pid` lists the running ones"),
        None => Diagnostic::error("no `proxy serve` of this user is running")
            .hint("start one with `proxy serve`, or run `proxy list-servers --live` to check the configured servers"),
    }
}
