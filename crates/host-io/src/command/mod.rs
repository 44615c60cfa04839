//! Commands of extensions: only declared ones, without a shell, with limits on time and output. A command is always
//! stopped together with its descendants.

mod capture;
mod executable;
mod progress_lines;
mod running;
mod start;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Value, json};

pub use executable::{MAX_EXECUTABLE_OUTPUT, find_executable, run_executable};
pub use progress_lines::CommandProgress;

use super::{Folder, HostIo};
use capture::Capture;
use running::{CommandEnd, RunLimits, finish};
use start::{find_in_path, start};

/// Maximum number of bytes that are kept of each output stream.
pub const MAX_OUTPUT: usize = 1 << 20;

/// A command as the script requested it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Command {
    pub command: String,
    pub args: Vec<String>,
    pub stdin: Option<String>,
    pub cwd: Option<String>,
    pub env: Vec<(String, String)>,
    /// In seconds.
    pub timeout: f64,
    /// Whether the script wants the output as base64.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
}

/// A hundred years. With much more, the clock overflows.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

impl Command {
    fn timeout(&self) -> Result<Duration, String> {
        let timeout = Duration::try_from_secs_f64(self.timeout).map_err(|_| "`timeout` must be above 0".to_owned())?;
        Ok(timeout.min(LONGEST))
    }
}

/// Checks whether an extension may run a command.
pub fn check(command: &str, allowed: &[String]) -> Result<(), String> {
    if allowed.iter().any(|known| known == command) {
        return Ok(());
    }
    if allowed.is_empty() {
        return Err(format!(
            "the command `{command}` cannot be run: the extension may not run commands; add `allowed_exec = [\"{command}\"]` to its Extension()"
        ));
    }
    let known: Vec<String> = allowed.iter().map(|known| format!("\"{known}\"")).collect();
    Err(format!("the command `{command}` is not allowed: `allowed_exec` of the extension has {}", known.join(", ")))
}

/// Runs a command until it exits or its timeout expires, and returns the dict for the script.
pub async fn run(reach: &HostIo, allowed: &[String], folder: &Folder, command: &Command) -> Result<Value, String> {
    check(&command.command, allowed)?;
    let timeout = command.timeout()?;
    let program = if command.command.contains('/') {
        folder.path().map_or_else(|| command.command.clone().into(), |own| own.join(&command.command))
    } else {
        find_in_path(&command.command, reach)?
    };
    let cwd = command.cwd.as_ref().map(|cwd| folder.path().map_or_else(|| cwd.into(), |own| own.join(cwd)));
    let (running, streams) = start(reach, command, program, cwd, None)
        .map_err(|error| format!("command `{}` cannot be started: {error}", command.command))?;
    let (mut out, mut err) = (Capture::beginning(MAX_OUTPUT), Capture::beginning(MAX_OUTPUT));
    let limits = RunLimits { timeout, most: timeout };
    let end = finish(running, streams, (&mut out, &mut err), limits, |_| {}).await;
    Ok(outcome(&end, &out, &err, command.binary))
}

/// The dict for the script.
fn outcome(end: &CommandEnd, out: &Capture, err: &Capture, binary: bool) -> Value {
    let mut outcome = json!({
        "stderr": err.text(),
        "exit_code": end.code(),
        "success": end.is_success(),
        "timed_out": matches!(end, CommandEnd::TimedOut),
        "truncated": out.is_truncated() || err.is_truncated(),
    });
    if binary {
        outcome["stdout_base64"] = STANDARD.encode(out.bytes()).into();
    } else {
        outcome["stdout"] = out.text().into();
    }
    outcome
}

#[cfg(test)]
mod tests;
