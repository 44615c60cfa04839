//! The `PATH` of the log-in shell, which its start-up files have set.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{LazyLock, mpsc};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};

const TIMEOUT: Duration = Duration::from_secs(2);
/// Around the answer: start-up files may print something, too.
const MARK: &str = "===path===";
const MAX_OUTPUT: usize = 1 << 20;

/// What the shell has said.
#[derive(Clone, Debug)]
pub(super) enum ShellPath {
    Known(OsString),
    /// `SHELL` is not set.
    None,
    TimedOut,
    Failed,
}

/// The answers of the shells that have been asked. Start-up files may take long, so no shell is asked twice.
static ASKED: LazyLock<Mutex<HashMap<[OsString; 2], ShellPath>>> = LazyLock::new(Mutex::default);

pub(super) fn path(variable: impl Fn(&str) -> Option<OsString>) -> ShellPath {
    let Some(shell) = variable("SHELL").filter(|shell| !shell.is_empty()) else { return ShellPath::None };
    let home = variable("HOME").unwrap_or_default();
    // Held meanwhile: several servers may be looked for at once.
    let mut asked = ASKED.lock();
    let answer = asked.entry([shell.clone(), home]).or_insert_with(|| {
        let answer = ask(&shell, &variable, TIMEOUT);
        tracing::debug!(?shell, ?answer, "asked the log-in shell for its PATH");
        answer
    });
    answer.clone()
}

/// Runs the shell as a terminal would, but without a terminal.
#[expect(unsafe_code, reason = "the shell must leave the session of the terminal before it runs anything")]
fn ask(shell: &OsStr, variable: impl Fn(&str) -> Option<OsString>, timeout: Duration) -> ShellPath {
    let mut command = Command::new(shell);
    let print = format!("printf '%s' {MARK}; printenv PATH; printf '%s' {MARK}");
    command.args(["-l", "-i", "-c", &print]).env_clear().env("TERM", "dumb");
    for name in ["PATH", "HOME", "USER", "LOGNAME", "LANG", "SHELL", "XDG_CONFIG_HOME", "ZDOTDIR"] {
        if let Some(value) = variable(name) {
            command.env(name, value);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; `setsid` is one.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into));
    }
    let Ok(mut child) = command.spawn() else { return ShellPath::Failed };
    let Some(stdout) = child.stdout.take() else { return ShellPath::Failed };
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(read_marked(stdout)));
    let answer = match receiver.recv_timeout(timeout) {
        Ok(path) => path.map_or(ShellPath::Failed, ShellPath::Known),
        Err(_) => ShellPath::TimedOut,
    };
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
    answer
}

/// Reads until the second mark. Not until the end: start-up files may leave a process behind that keeps the pipe open.
fn read_marked(mut stdout: impl Read) -> Option<OsString> {
    let mut output = Vec::new();
    let mut chunk = [0; 4096];
    while output.len() < MAX_OUTPUT {
        let read = stdout.read(&mut chunk).ok().filter(|read| *read > 0)?;
        output.extend_from_slice(&chunk[..read]);
        if let Some(path) = marked(&output) {
            return Some(path);
        }
    }
    None
}

/// What stands between the marks.
fn marked(output: &[u8]) -> Option<OsString> {
    let is_mark = |window: &[u8]| window == MARK.as_bytes();
    let start = output.windows(MARK.len()).position(is_mark)? + MARK.len();
    let rest = &output[start..];
    let end = rest.windows(MARK.len()).position(is_mark)?;
    let path = rest[..end].trim_ascii();
    (!path.is_empty()).then(|| OsString::from_vec(path.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    const PATIENT: Duration = Duration::from_secs(50);

    /// What a shell says that runs this.
    fn asked(name: &str, script: &str, timeout: Duration) -> ShellPath {
        let shell = testing::folder(name).join("shell");
        testing::program(&shell, script);
        ask(shell.as_os_str(), |name| (name == "PATH").then(|| "/bin:/usr/bin".into()), timeout)
    }

    #[test]
    fn only_what_stands_between_the_marks_is_the_path() {
        let answer = asked("banner", "echo 'PATH=/trap'; PATH=\"/some/bin:$PATH\"; eval \"$4\"; echo bye", PATIENT);
        assert!(matches!(&answer, ShellPath::Known(path) if path == "/some/bin:/bin:/usr/bin"), "{answer:?}");
        let answer = asked("agent", "sleep 60 & eval \"$4\"", PATIENT);
        assert!(matches!(&answer, ShellPath::Known(path) if path == "/bin:/usr/bin"), "{answer:?}");
    }

    #[test]
    fn a_shell_that_asks_hangs_or_says_nothing_of_use_is_not_waited_for() {
        assert!(matches!(asked("asks", "read answer && eval \"$4\"", PATIENT), ShellPath::Failed));
        assert!(matches!(asked("exits", "exit 3", PATIENT), ShellPath::Failed));
        assert!(matches!(asked("hangs", "sleep 60", Duration::from_millis(50)), ShellPath::TimedOut));
    }
}
