//! A child process with its process group.

use std::io;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use super::{DescriptorThree, descriptor_three, descriptors, tree, watchdog};

/// Maximum number of passes over the marked processes. A program that forks faster than this cannot be stopped by
/// signals.
const MAX_KILL_PASSES: usize = 10;

/// A program to start.
#[derive(Clone, Debug)]
pub struct Launch {
    pub program: PathBuf,
    pub args: Vec<String>,
    /// The whole environment: nothing is inherited.
    pub environment: Vec<(String, String)>,
    pub folder: Option<PathBuf>,
    /// Whether it can use the terminal of the proxy, for example to ask for a password.
    pub terminal: bool,
}

/// An environment variable that all descendants inherit. Its value identifies daemons that have left both the group and
/// their parents; without it descendants are found by group and parent only.
pub const DESCENDANT_MARK: &str = "PROXY_STARTED_BY";

/// A running child, leader of a process group of its own. Dropping it kills the group.
#[derive(Debug)]
pub struct Child {
    inner: tokio::process::Child,
    group: Option<Pid>,
    /// `NAME=VALUE`.
    mark: Option<String>,
}

impl Child {
    /// Starts a program with all three standard streams as pipes.
    pub fn start(launch: &Launch) -> io::Result<(Self, ChildStdin, ChildStdout, ChildStderr)> {
        Self::start_with(launch, None)
    }

    /// Starts a program with all three standard streams as pipes, and a pipe as its descriptor 3.
    #[expect(unsafe_code, reason = "the child must register with the watchdog before it can run anything of its own")]
    pub fn start_with(
        launch: &Launch,
        third: Option<&DescriptorThree>,
    ) -> io::Result<(Self, ChildStdin, ChildStdout, ChildStderr)> {
        let mut command = Command::new(&launch.program);
        command
            .args(&launch.args)
            .env_clear()
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if launch.terminal {
            command.process_group(0);
        }
        if let Some(folder) = &launch.folder {
            command.current_dir(folder);
        }
        let mut register = watchdog::registrar();
        let third = third.map(DescriptorThree::write_end);
        let has_terminal = launch.terminal;
        let prepare = move || {
            if !has_terminal {
                // The group of a new session has no terminal.
                rustix::process::setsid()?;
            }
            register.as_mut().map_or(Ok(()), |register| register())?;
            // Last, because the socket of the watchdog may be descriptor 3.
            third.map_or(Ok(()), duplicate_to_three)?;
            descriptors::put_back()
        };
        // SAFETY: between fork and exec only async-signal-safe calls are allowed; these begin a session, send four bytes of
        // the stack to a socket, duplicate a descriptor and set a limit.
        unsafe {
            command.pre_exec(prepare);
        }
        let mut inner = command.spawn()?;
        let group = inner.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        group.into_iter().for_each(watchdog::note);
        let streams = (inner.stdin.take(), inner.stdout.take(), inner.stderr.take());
        let mark = launch
            .environment
            .iter()
            .find(|(name, _)| name == DESCENDANT_MARK)
            .map(|(_, value)| format!("{DESCENDANT_MARK}={value}"));
        let child = Child { inner, group, mark };
        match streams {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((child, stdin, stdout, stderr)),
            _ => Err(io::Error::other("the child has no pipes")),
        }
    }

    pub fn id(&self) -> Option<u32> {
        self.inner.id()
    }

    /// Waits for the leader to exit, then kills the rest of its group.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.inner.wait().await?;
        self.end_group();
        Ok(status)
    }

    /// Stops the child: closes its input, sends `SIGTERM` after `timeout`, and kills it after another `timeout`. The
    /// descendants are collected before the input is closed, because they cannot be found once the child has exited.
    pub async fn stop(mut self, timeout: Duration, close_input: impl FnOnce()) {
        let Some(group) = self.group else { return close_input() };
        let descendants = tree::descendants(group);
        close_input();
        if tokio::time::timeout(timeout, self.inner.wait()).await.is_err() {
            self.terminate_then_kill(group, &descendants, timeout).await;
        }
        self.end_group();
        tree::signal(&descendants, Signal::KILL);
    }

    /// Sends `SIGTERM` to the child and its descendants, and kills them after `timeout`.
    pub async fn terminate(mut self, timeout: Duration) {
        let Some(group) = self.group else { return };
        let descendants = self.descendants(group);
        self.terminate_then_kill(group, &descendants, timeout).await;
        self.end_group();
        tree::signal(&descendants, Signal::KILL);
        self.end_marked();
    }

    /// The descendants, by parentage and by the mark.
    fn descendants(&self, group: Pid) -> Vec<tree::ProcessEntry> {
        let mut descendants = tree::descendants(group);
        descendants.extend(self.mark.iter().flat_map(|mark| tree::marked(mark)));
        descendants
    }

    /// Kills marked processes that were started while others were being killed.
    fn end_marked(&self) {
        let Some(mark) = &self.mark else { return };
        for _ in 0..MAX_KILL_PASSES {
            let remaining = tree::marked(mark);
            if remaining.is_empty() {
                return;
            }
            tree::signal(&remaining, Signal::KILL);
        }
    }

    async fn terminate_then_kill(&mut self, group: Pid, descendants: &[tree::ProcessEntry], timeout: Duration) {
        signal(group, Signal::TERM);
        tree::signal(descendants, Signal::TERM);
        if tokio::time::timeout(timeout, self.inner.wait()).await.is_err() {
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
            tree::signal(&self.descendants(group), Signal::KILL);
        }
        self.end_group();
    }
}

/// Makes a descriptor the child's descriptor 3. Async-signal-safe: a single system call.
#[expect(unsafe_code, reason = "there is no safe interface for a descriptor that nobody owns")]
fn duplicate_to_three(write: RawFd) -> io::Result<()> {
    // SAFETY: runs in the child, where nothing of this process uses its descriptor 3 any more.
    match unsafe { libc::dup2(write, descriptor_three::NUMBER) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn signal(group: Pid, signal: Signal) {
    // ESRCH: the group is already gone.
    if let Err(error) = kill_process_group(group, signal)
        && error != rustix::io::Errno::SRCH
    {
        tracing::debug!(%error, group = group.as_raw_nonzero(), "signalling a process group");
    }
}
