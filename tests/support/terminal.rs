//! A command on a terminal: it is shown what a person types, and says what a person sees.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::finished::Finished;
use super::patience::{LONG_PATIENCE, within};
use super::program::Program;
use super::stderr_log::StderrLog;

/// Runs a command whose standard input and standard error are a terminal, at which this was typed before anybody asked.
/// What is on the terminal is its standard error; lines end there with a carriage return too.
pub async fn typed(mut command: Command, keys: &str) -> Finished {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are terminals");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("it is ours");
    let name = ptsname(&master, Vec::new()).expect("it has a name");
    let end = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("it can be opened");
    let mut master = File::from(master);
    let mut screen = StderrLog::collect(master.try_clone().expect("it can be shared"));
    screen.patience = LONG_PATIENCE;
    master.write_all(keys.as_bytes()).expect("a terminal takes what is typed");
    let input = end.try_clone().expect("it can be shared");
    command.stdin(Stdio::from(input)).stderr(Stdio::from(end)).stdout(Stdio::piped());
    let (mut program, mut output) = Program::start_on_terminal(command, screen.clone());
    let mut stdout = String::new();
    let read = tokio::io::AsyncReadExt::read_to_string(&mut output, &mut stdout);
    within("the end of standard output", &screen, read).await.expect("it is text");
    let code = program.exit().await.code().expect("it was not ended by a signal");
    Finished { code, stdout, stderr: screen.whole().await }
}
