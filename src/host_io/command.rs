//! Commands of extensions: only declared ones, without a shell, with limits on time and output. A command is always
//! stopped together with its descendants.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::{Folder, HostIo};
use crate::process::{Child, DESCENDANT_MARK, Launch, base_environment, watchdog};

/// Time between `SIGTERM` and `SIGKILL`.
const TERMINATION_TIMEOUT: Duration = Duration::from_secs(2);
/// How long output is still read after the command has exited.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
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
}

/// Checks whether an extension may run a command.
pub fn check(command: &str, allowed: &[String]) -> Result<(), String> {
    if allowed.iter().any(|known| known == command) {
        return Ok(());
    }
    if allowed.is_empty() {
        return Err(format!(
            "the command `{command}` cannot be run: the extension has no whitelist of commands; add `allowed_exec = [\"{command}\"]` to its Extension()"
        ));
    }
    let known: Vec<String> = allowed.iter().map(|known| format!("\"{known}\"")).collect();
    Err(format!(
        "the command `{command}` is not in the whitelist of the extension: `allowed_exec` has {}",
        known.join(", ")
    ))
}

/// Runs a command until it exits or its timeout expires, and returns the dict for the script.
pub async fn run(reach: &HostIo, allowed: &[String], folder: &Folder, command: &Command) -> Result<Value, String> {
    check(&command.command, allowed)?;
    let timeout = Duration::try_from_secs_f64(command.timeout).map_err(|_| "`timeout` must be above 0".to_owned())?;
    let program = find(&command.command, reach.variable("PATH").unwrap_or_default(), folder)
        .ok_or_else(|| format!("command `{}` not found", command.command))?;
    let mut environment = base_environment(reach.variables.iter().cloned(), |_| false);
    environment.retain(|(name, _)| command.env.iter().all(|(own, _)| own != name));
    environment.extend(command.env.iter().cloned());
    environment.push((DESCENDANT_MARK.to_owned(), uuid::Uuid::new_v4().to_string()));
    let working_folder = command.cwd.as_ref().map(|cwd| folder.path().map_or_else(|| cwd.into(), |own| own.join(cwd)));
    let launch = Launch { program, args: command.args.clone(), environment, folder: working_folder };
    if let Some(executable) = &reach.executable
        && let Err(error) = watchdog::start(executable)
    {
        tracing::warn!(%error, "the watchdog did not start: commands may keep running if the proxy is killed");
    }
    let (child, stdin, stdout, stderr) =
        Child::start(&launch).map_err(|error| format!("command `{}` cannot be started: {error}", command.command))?;
    let streams = CommandStreams { stdin, stdout, stderr, input: command.stdin.clone() };
    Ok(finish(RunningCommand(Some(child)), streams, timeout).await)
}

struct CommandStreams {
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
    input: Option<String>,
}

async fn finish(mut running: RunningCommand, streams: CommandStreams, timeout: Duration) -> Value {
    let (mut out, mut err) = (Capture::default(), Capture::default());
    let status = {
        let CommandStreams { stdin, stdout, stderr, input } = streams;
        let flow = async { tokio::join!(write_input(stdin, input), out.read(stdout), err.read(stderr)) };
        let deadline = tokio::time::sleep(timeout);
        tokio::pin!(flow, deadline);
        let mut drained = false;
        let status = loop {
            tokio::select! {
                _ = &mut flow, if !drained => drained = true,
                status = running.wait() => break status,
                () = &mut deadline => break None,
            }
        };
        if status.is_none() {
            let ending = running.end();
            tokio::pin!(ending);
            loop {
                tokio::select! {
                    _ = &mut flow, if !drained => drained = true,
                    () = &mut ending => break,
                }
            }
        }
        // A descendant of the command may still hold its output open.
        if !drained {
            let _ = tokio::time::timeout(DRAIN_TIMEOUT, &mut flow).await;
        }
        status
    };
    json!({
        "stdout": out.text(),
        "stderr": err.text(),
        "exit_code": status.map_or(-1, code),
        "success": status.is_some_and(|status| status.success()),
        "timed_out": status.is_none(),
        "truncated": out.truncated || err.truncated,
    })
}

/// A running command. Dropping it terminates the command, first with `SIGTERM`.
struct RunningCommand(Option<Child>);

impl RunningCommand {
    /// Waits for the command to exit; `None` if its status is unknown.
    async fn wait(&mut self) -> Option<ExitStatus> {
        match &mut self.0 {
            Some(child) => child.wait().await.ok(),
            None => None,
        }
    }

    async fn end(&mut self) {
        if let Some(child) = self.0.take() {
            child.terminate(TERMINATION_TIMEOUT).await;
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // Without a runtime, dropping the child kills it.
        if let (Some(child), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current())
            && child.id().is_some()
        {
            runtime.spawn(child.terminate(TERMINATION_TIMEOUT));
        }
    }
}

/// The exit code of a command, or the negated number of the signal that killed it.
fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| status.signal().map(|signal| -signal)).unwrap_or(-1)
}

async fn write_input(mut stdin: ChildStdin, input: Option<String>) {
    if let Some(input) = input {
        // A command that exits without reading all of its input is no error.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
}

/// The beginning of a stream.
#[derive(Default)]
struct Capture {
    bytes: Vec<u8>,
    truncated: bool,
}

impl Capture {
    /// Reads to the end, so that the command never blocks on a full pipe, and keeps the beginning.
    async fn read(&mut self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            let kept = count.min(MAX_OUTPUT - self.bytes.len());
            self.bytes.extend_from_slice(&buffer[..kept]);
            self.truncated |= kept < count;
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Finds a program in the `PATH` of the proxy. A `PATH` that the script sets must not change which program runs.
fn find(command: &str, path: &str, folder: &Folder) -> Option<PathBuf> {
    if command.contains('/') {
        return Some(folder.path().map_or_else(|| PathBuf::from(command), |own| own.join(command)));
    }
    std::env::split_paths(path).map(|entry| entry.join(command)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
