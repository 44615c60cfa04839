//! The first process of a container. The kernel makes it the parent of every orphan in the container, and it has to wait
//! for them, or they stay as zombies. So it does only that and passes signals on; the proxy itself runs as its child.

use std::ffi::OsString;
use std::io;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, channel};

/// The signals that are passed on.
const PASSED_ON: [Signal; 6] = [Signal::TERM, Signal::INT, Signal::QUIT, Signal::HUP, Signal::USR1, Signal::USR2];
/// These, a terminal sends to both processes itself.
const SENT_BY_TERMINALS: [Signal; 3] = [Signal::INT, Signal::QUIT, Signal::HUP];

/// Whether this is the first process of a container.
pub fn is_this() -> bool {
    std::process::id() == 1
}

/// Runs this program again as a child, with the same arguments. Returns its exit code.
pub fn run() -> io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Before the child starts, so that no signal is lost.
        let mut signals = signals()?;
        let child = start()?;
        loop {
            let Some(number) = signals.recv().await else { return Ok(1) };
            if number == Signal::CHILD.as_raw() {
                if let Some(status) = wait_for_all(child) {
                    return Ok(exit_code(status));
                }
            } else if let Some(signal) = Signal::from_named_raw(number) {
                // The child may have ended already.
                let _ = kill_process(child, signal);
            }
        }
    })
}

fn start() -> io::Result<Pid> {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| OsString::from("proxy"));
    let child = Command::new(std::env::current_exe()?).arg0(name).args(arguments).spawn()?;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    id.ok_or_else(|| io::Error::other("the child has no process id"))
}

/// Signals, as they arrive.
fn signals() -> io::Result<Receiver<i32>> {
    let (sender, receiver) = channel(16);
    let on_terminal = io::stdin().is_terminal();
    let passed_on = PASSED_ON.into_iter().filter(|signal| !(on_terminal && SENT_BY_TERMINALS.contains(signal)));
    for number in passed_on.map(Signal::as_raw).chain([Signal::CHILD.as_raw()]) {
        let mut arrivals = signal(SignalKind::from_raw(number))?;
        let sender = sender.clone();
        tokio::spawn(async move {
            while arrivals.recv().await.is_some() {
                if sender.send(number).await.is_err() {
                    return;
                }
            }
        });
    }
    Ok(receiver)
}

/// Waits for every process that has ended. Returns how the proxy ended, if it is among them.
fn wait_for_all(proxy: Pid) -> Option<WaitStatus> {
    let mut ended = None;
    while let Ok(Some((process, status))) = wait(WaitOptions::NOHANG) {
        if process == proxy {
            ended = Some(status);
        }
    }
    ended
}

/// As a shell says it.
fn exit_code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or_else(|| Some(128 + status.terminating_signal()?)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}
