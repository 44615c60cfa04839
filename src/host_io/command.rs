//! Commands of extensions: only those they declare, never through a shell, bounded in time and output, gone without a
//! trace when they are ended.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::{Folder, Reach};
use crate::process::{Child, DESCENDANT_MARK, Launch, base_environment, watchdog};

/// How long a command has between the request to end and its end.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long output may still come once the command itself is gone.
const REST: Duration = Duration::from_millis(500);
/// What is kept of each of its streams.
pub const MAX_OUTPUT: usize = 1 << 20;

/// What a script asks for.
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

/// Whether an extension may run a command; if not, why and what to do.
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

/// Runs a command to its end, or to the end of its time; what came out as the dict that scripts get.
pub async fn run(reach: &Reach, allowed: &[String], folder: &Folder, command: &Command) -> Result<Value, String> {
    check(&command.command, allowed)?;
    let timeout = Duration::try_from_secs_f64(command.timeout).map_err(|_| "`timeout` must be above 0".to_owned())?;
    let program = find(&command.command, reach.variable("PATH").unwrap_or_default(), folder)
        .ok_or_else(|| format!("there is no command `{}`", command.command))?;
    let mut environment = base_environment(reach.variables.iter().cloned());
    environment.retain(|(name, _)| command.env.iter().all(|(own, _)| own != name));
    environment.extend(command.env.iter().cloned());
    environment.push((DESCENDANT_MARK.to_owned(), uuid::Uuid::new_v4().to_string()));
    let working_folder = command.cwd.as_ref().map(|cwd| folder.path().map_or_else(|| cwd.into(), |own| own.join(cwd)));
    let launch = Launch { program, args: command.args.clone(), environment, folder: working_folder };
    if let Some(executable) = &reach.executable
        && let Err(error) = watchdog::start(executable)
    {
        tracing::warn!(%error, "no watchdog: commands may stay if the proxy is killed");
    }
    let (child, stdin, stdout, stderr) = Child::start(&launch)
        .map_err(|error| format!("the command `{}` cannot be started: {error}", command.command))?;
    let streams = Streams { stdin, stdout, stderr, input: command.stdin.clone() };
    Ok(finish(Running(Some(child)), streams, timeout).await)
}

struct Streams {
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
    input: Option<String>,
}

async fn finish(mut running: Running, streams: Streams, timeout: Duration) -> Value {
    let (mut out, mut err) = (Capture::default(), Capture::default());
    let status = {
        let Streams { stdin, stdout, stderr, input } = streams;
        let flow = async { tokio::join!(feed(stdin, input), out.read(stdout), err.read(stderr)) };
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
        // Somebody whom the command left behind may hold its output open.
        if !drained {
            let _ = tokio::time::timeout(REST, &mut flow).await;
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

/// A command under way: whoever drops it ends it, politely first.
struct Running(Option<Child>);

impl Running {
    /// Nothing if it cannot be known how it ended.
    async fn wait(&mut self) -> Option<ExitStatus> {
        match &mut self.0 {
            Some(child) => child.wait().await.ok(),
            None => None,
        }
    }

    async fn end(&mut self) {
        if let Some(child) = self.0.take() {
            child.terminate(PATIENCE).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Without a runtime the child's own drop kills it.
        if let (Some(child), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current())
            && child.id().is_some()
        {
            runtime.spawn(child.terminate(PATIENCE));
        }
    }
}

/// The number a command ended with; for one that a signal ended, that signal below zero.
fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| status.signal().map(|signal| -signal)).unwrap_or(-1)
}

async fn feed(mut stdin: ChildStdin, input: Option<String>) {
    if let Some(input) = input {
        // A command that does not read to the end is its own affair.
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
    /// Reads to the end, so that the writer is never held up, and keeps what fits.
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

/// The program, found with the proxy's own `PATH`: a variable that a script sets must not change what a name means.
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
