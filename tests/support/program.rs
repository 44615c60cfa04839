//! A started program: its pipes, its stderr, and its certain end.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::process::{ChildStdin, ChildStdout};

use super::in_process::ServerThread;
use super::patience::{LONG_PATIENCE, PATIENCE, within};
use super::stderr_log::StderrLog;

/// How long a program may take to leave by itself when a test is over.
const FAREWELL: Duration = Duration::from_secs(3);

/// What tests that end a program, or look at its process, need.
const OWN_PROCESS: &str = "a process of its own";

pub struct Program {
    /// `None` for what runs in the test's own process.
    child: Option<Child>,
    pub stderr: StderrLog,
    /// The server in the test's own process.
    _server: Option<ServerThread>,
}

impl Program {
    /// Starts it with all three streams piped.
    pub fn start(mut command: Command) -> (Self, ChildStdin, ChildStdout) {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|problem| panic!("cannot start {command:?}: {problem}"));
        let stdin = ChildStdin::from_std(child.stdin.take().expect("stdin is piped")).expect("a pipe is pollable");
        let stdout = ChildStdout::from_std(child.stdout.take().expect("stdout is piped")).expect("a pipe is pollable");
        let stderr = StderrLog::collect(child.stderr.take().expect("stderr is piped"));
        (Self { child: Some(child), stderr, _server: None }, stdin, stdout)
    }

    /// Starts it with standard input and standard error as they were set, which are shown on `screen`.
    pub fn start_on_terminal(mut command: Command, screen: StderrLog) -> (Self, ChildStdout) {
        let mut child = command.spawn().unwrap_or_else(|problem| panic!("cannot start {command:?}: {problem}"));
        let stdout = ChildStdout::from_std(child.stdout.take().expect("stdout is piped")).expect("a pipe is pollable");
        (Self { child: Some(child), stderr: screen, _server: None }, stdout)
    }

    /// Starts a server that says on stderr where it listens; nothing is read from its stdout.
    pub async fn start_server(command: Command) -> (Self, String) {
        Self::start_with_patience(command, PATIENCE).await
    }

    /// The same for a server that takes its time to start.
    pub async fn start_patiently(command: Command) -> (Self, String) {
        Self::start_with_patience(command, LONG_PATIENCE).await
    }

    async fn start_with_patience(mut command: Command, patience: Duration) -> (Self, String) {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|problem| panic!("cannot start {command:?}: {problem}"));
        let mut stderr = StderrLog::collect(child.stderr.take().expect("stderr is piped"));
        stderr.patience = patience;
        let program = Self { child: Some(child), stderr, _server: None };
        let url = program.stderr.listening_url().await;
        (program, url)
    }

    /// A server in the test's own process, which has no log. It ends when this is dropped.
    pub fn in_process(server: ServerThread) -> Self {
        Self { child: None, stderr: StderrLog::none(), _server: Some(server) }
    }

    pub fn id(&self) -> u32 {
        self.child.as_ref().expect(OWN_PROCESS).id()
    }

    /// Asks the program to end, as a supervisor does.
    pub fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    /// What Ctrl-C sends.
    pub fn interrupt(&self) {
        self.signal(rustix::process::Signal::INT);
    }

    /// Asks the program to open its files again, as logrotate does.
    pub fn hang_up(&self) {
        self.signal(rustix::process::Signal::HUP);
    }

    /// Ends the program as a crash would.
    pub fn kill(&self) {
        self.signal(rustix::process::Signal::KILL);
    }

    /// Stops the program in the middle of whatever it does.
    pub fn freeze(&self) {
        self.signal(rustix::process::Signal::STOP);
    }

    /// Lets a program go on that was stopped.
    pub fn wake(&self) {
        self.signal(rustix::process::Signal::CONT);
    }

    /// Waits for the program to end by itself.
    pub async fn exit(&mut self) -> ExitStatus {
        let log = self.stderr.clone();
        let child = self.child.as_mut().expect(OWN_PROCESS);
        let ended = async {
            loop {
                if let Some(status) = child.try_wait().expect("the child is ours to wait for") {
                    return status;
                }
                // No event tells of another process's end without a signal handler in the test's own process.
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        within("the program's end", &log, ended).await
    }

    fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| matches!(child.try_wait(), Ok(Some(_))))
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Ok(raw) = i32::try_from(self.id())
            && let Some(pid) = rustix::process::Pid::from_raw(raw)
        {
            // It may have ended already.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        // Gently first: a proxy that is killed cannot end its own children.
        self.terminate();
        let deadline = Instant::now() + FAREWELL;
        while Instant::now() < deadline {
            if self.has_ended() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whether a process with this id exists (a zombie that nobody waited for does not count).
pub fn is_alive(id: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(stat) => !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => false,
    }
}

/// Waits until a process is gone.
pub async fn is_gone(id: u32, log: &StderrLog) {
    let gone = async {
        while is_alive(id) {
            // As above: another process's end is only visible by looking.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within(&format!("the end of process {id}"), log, gone).await;
}
