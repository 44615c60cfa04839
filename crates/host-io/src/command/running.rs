//! A command while it runs: its streams, its deadline, and its end.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::Instant;

use super::capture::{Capture, TooMuchOutput};
use super::progress_lines::{CommandProgress, ProgressLines};
use proxy_base::process::Child;

/// Time between `SIGTERM` and `SIGKILL`.
const TERMINATION_TIMEOUT: Duration = Duration::from_secs(2);
/// How long output is still read after the command has exited.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

pub(super) struct CommandStreams {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
    pub(super) input: Option<String>,
    pub(super) progress: Option<ProgressLines>,
}

/// How long a command may run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunLimits {
    /// Without progress.
    pub(super) timeout: Duration,
    /// In any case.
    pub(super) most: Duration,
}

/// How a command ended.
#[derive(Debug)]
pub(super) enum CommandEnd {
    /// `None` if its status is unknown.
    Exited(Option<ExitStatus>),
    TimedOut,
    TooMuchOutput,
}

impl CommandEnd {
    /// The exit code, or the negated number of the signal that killed the command; -1 if it was stopped.
    pub(super) fn code(&self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        let CommandEnd::Exited(Some(status)) = self else { return -1 };
        status.code().or_else(|| status.signal().map(|signal| -signal)).unwrap_or(-1)
    }

    pub(super) fn is_success(&self) -> bool {
        matches!(self, CommandEnd::Exited(Some(status)) if status.success())
    }
}

/// Runs a command to its end. Progress restarts its timeout.
pub(super) async fn finish(
    mut running: RunningCommand,
    streams: CommandStreams,
    (out, err): (&mut Capture, &mut Capture),
    limits: RunLimits,
    report: impl Fn(&CommandProgress),
) -> CommandEnd {
    let CommandStreams { stdin, stdout, stderr, input, mut progress } = streams;
    let flow = async { tokio::try_join!(write_input(stdin, input), out.read(stdout), err.read(stderr)).map(drop) };
    let last = Instant::now() + limits.most;
    let deadline = tokio::time::sleep(limits.timeout);
    tokio::pin!(flow, deadline);
    let mut drained = false;
    let mut end = loop {
        tokio::select! {
            read = &mut flow, if !drained => {
                drained = true;
                if let Err(TooMuchOutput) = read {
                    break CommandEnd::TooMuchOutput;
                }
            }
            line = next(&mut progress), if progress.is_some() => match line {
                Some(line) => {
                    report(&line);
                    deadline.as_mut().reset(last.min(Instant::now() + limits.timeout));
                }
                None => progress = None,
            },
            status = running.wait() => break CommandEnd::Exited(status),
            () = &mut deadline => break CommandEnd::TimedOut,
        }
    };
    if !matches!(end, CommandEnd::Exited(_)) {
        let ending = running.end();
        tokio::pin!(ending);
        loop {
            tokio::select! {
                _ = &mut flow, if !drained => drained = true,
                () = &mut ending => break,
            }
        }
    }
    // A descendant of the command may still hold its streams open.
    let rest = async {
        let read = async { if drained { Ok(()) } else { flow.await } };
        let lines = async {
            while let Some(line) = next(&mut progress).await {
                report(&line);
            }
        };
        tokio::join!(read, lines).0
    };
    if let Ok(Err(TooMuchOutput)) = tokio::time::timeout(DRAIN_TIMEOUT, rest).await {
        end = CommandEnd::TooMuchOutput;
    }
    end
}

async fn next(progress: &mut Option<ProgressLines>) -> Option<CommandProgress> {
    progress.as_mut()?.next().await
}

/// A running command. Dropping it terminates the command, first with `SIGTERM`.
pub(super) struct RunningCommand(Option<Child>);

impl RunningCommand {
    pub(super) fn new(child: Child) -> Self {
        RunningCommand(Some(child))
    }

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

async fn write_input(mut stdin: ChildStdin, input: Option<String>) -> Result<(), TooMuchOutput> {
    if let Some(input) = input {
        // A command that exits without reading all of its input is no error.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    Ok(())
}
