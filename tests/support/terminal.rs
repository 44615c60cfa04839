//! A command as a person at a terminal runs it.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::finished::Finished;
use super::patience::{LONG_PATIENCE, within};
use super::program::Program;
use super::real_servers::missing;
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

/// The command on a terminal so many characters wide; none, with a word, where there is no `script` of
/// util-linux to lend one.
pub fn on_a_terminal(command: &Command, columns: u16) -> Option<Command> {
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        return missing("there is no `script` to lend a terminal");
    }
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted: Vec<String> =
        words.map(|word| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"))).collect();
    let line = format!("stty rows 24 cols {columns}; exec {}", quoted.join(" "));
    let mut terminal = Command::new("script");
    terminal.args(["-q", "-e", "-c", &line, "/dev/null"]);
    terminal.current_dir(command.get_current_dir().expect("a test has its own directory"));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    Some(terminal)
}
