//! One child and its process group.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use super::{tree, watchdog};

/// How often what was started meanwhile is looked for: who starts others faster than that is not ended by signals.
const ROUNDS: usize = 10;

/// What to start.
#[derive(Clone, Debug)]
pub struct Launch {
    pub program: PathBuf,
    pub args: Vec<String>,
    /// The whole environment: nothing is inherited.
    pub environment: Vec<(String, String)>,
    pub folder: Option<PathBuf>,
}

/// The variable that whatever a child starts inherits: by its value they are found that have left both their group and
/// their parents. A child without it is found by group and parents only.
pub const MARK: &str = "PROXY_STARTED_BY";

/// A running child, leader of a process group of its own. Dropping it kills the group.
#[derive(Debug)]
pub struct Child {
    inner: tokio::process::Child,
    group: Option<Pid>,
    /// `NAME=VALUE`.
    mark: Option<String>,
}

impl Child {
    /// Starts it with all three standard streams as pipes.
    #[expect(unsafe_code, reason = "the child must register with the watchdog before it can run anything of its own")]
    pub fn start(launch: &Launch) -> io::Result<(Self, ChildStdin, ChildStdout, ChildStderr)> {
        let mut command = Command::new(&launch.program);
        command
            .args(&launch.args)
            .env_clear()
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(folder) = &launch.folder {
            command.current_dir(folder);
        }
        if let Some(register) = watchdog::registrar() {
            // SAFETY: between fork and exec only async-signal-safe calls are allowed; this one sends four bytes of
            // the stack to a socket.
            unsafe {
                command.pre_exec(register);
            }
        }
        let mut inner = command.spawn()?;
        let group = inner.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        group.into_iter().for_each(watchdog::note);
        let streams = (inner.stdin.take(), inner.stdout.take(), inner.stderr.take());
        let mark = launch.environment.iter().find(|(name, _)| name == MARK).map(|(_, value)| format!("{MARK}={value}"));
        let child = Child { inner, group, mark };
        match streams {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((child, stdin, stdout, stderr)),
            _ => Err(io::Error::other("the child has no pipes")),
        }
    }

    pub fn id(&self) -> Option<u32> {
        self.inner.id()
    }

    /// Waits for the leader to end, then ends what is left of its group.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.inner.wait().await?;
        self.end_group();
        Ok(status)
    }

    /// Ends the child: its input is closed; after `patience` it is asked to terminate, after as long again it is killed.
    /// The input is closed only here, because once the child is gone nobody can tell any more whom it had started.
    pub async fn stop(mut self, patience: Duration, close_input: impl FnOnce()) {
        let Some(group) = self.group else { return close_input() };
        let family = tree::descendants(group);
        close_input();
        if tokio::time::timeout(patience, self.inner.wait()).await.is_err() {
            self.press(group, &family, patience).await;
        }
        self.end_group();
        tree::signal(&family, Signal::KILL);
    }

    /// Ends the child now: it is asked to terminate, and killed after `patience`; with everything that it has started.
    pub async fn terminate(mut self, patience: Duration) {
        let Some(group) = self.group else { return };
        let family = self.family(group);
        self.press(group, &family, patience).await;
        self.end_group();
        tree::signal(&family, Signal::KILL);
        self.end_marked();
    }

    /// All that it has started, as far as it can be found.
    fn family(&self, group: Pid) -> Vec<tree::Process> {
        let mut family = tree::descendants(group);
        family.extend(self.mark.iter().flat_map(|mark| tree::marked(mark)));
        family
    }

    /// Those that were started while others were ended.
    fn end_marked(&self) {
        let Some(mark) = &self.mark else { return };
        for _ in 0..ROUNDS {
            let left = tree::marked(mark);
            if left.is_empty() {
                return;
            }
            tree::signal(&left, Signal::KILL);
        }
    }

    async fn press(&mut self, group: Pid, family: &[tree::Process], patience: Duration) {
        signal(group, Signal::TERM);
        tree::signal(family, Signal::TERM);
        if tokio::time::timeout(patience, self.inner.wait()).await.is_err() {
            signal(group, Signal::KILL);
            if let Err(error) = self.inner.wait().await {
                tracing::warn!(%error, "waiting for a killed process");
            }
        }
    }

    fn end_group(&mut self) {
        if let Some(group) = self.group.take() {
            signal(group, Signal::KILL);
            watchdog::forget(group);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            tree::signal(&self.family(group), Signal::KILL);
        }
        self.end_group();
    }
}

fn signal(group: Pid, signal: Signal) {
    // Nobody left to signal is what we want.
    if let Err(error) = kill_process_group(group, signal)
        && error != rustix::io::Errno::SRCH
    {
        tracing::debug!(%error, group = group.as_raw_nonzero(), "signalling a process group");
    }
}
