//! `proxy calls --record`: writes complete calls to a file that only the user can read.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::cli::failure::CommandFailure;
use crate::cli::terminal::asked;
use crate::cli::{output, query, table};
use proxy_author::backtest::RecordingLine;
use proxy_base::control::Instance;
use proxy_base::diagnostic::Diagnostic;

/// What has been written.
#[derive(Default)]
struct Written {
    calls: usize,
    dropped: u64,
}

pub(super) fn run(running: &Instance, path: &Path, yes: bool) -> Result<(), CommandFailure> {
    if path.exists() {
        return Err(exists(path));
    }
    if !output::is_quiet() || !yes {
        output::err(&format!(
            "`{}` will contain every call of process {} in full, including secrets: users, groups and claims, headers \
             that scripts see, arguments, results, elicitation answers, and everything that was sent to servers",
            path.display(),
            running.pid
        ));
    }
    if !yes && !confirmed()? {
        output::err("nothing was recorded");
        return Ok(());
    }
    let mut file = create(path)?;
    let mut written = Written::default();
    let recorded = query::record(running, |line| {
        write(&mut file, line).map_err(|error| unwritable(path, &error))?;
        written.count(line, running);
        Ok(())
    });
    let dropped = match written.dropped {
        0 => String::new(),
        number => format!("; {number} calls were dropped because they were not written in time"),
    };
    output::err(&format!("recorded {} in `{}`{dropped}", table::count(written.calls, "call"), path.display()));
    recorded
}

fn confirmed() -> Result<bool, CommandFailure> {
    if !std::io::stdin().is_terminal() {
        return Err(CommandFailure::usage("standard input is not a terminal: pass --yes to record"));
    }
    Ok(matches!(asked("record the calls? [y/N] ")?.as_str(), "y" | "Y" | "yes"))
}

fn create(path: &Path) -> Result<File, CommandFailure> {
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    created.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(path),
        _ => unwritable(path, &error),
    })
}

/// Writes each line at once, so that a truncated recording loses at most one.
fn write(file: &mut File, line: &str) -> std::io::Result<()> {
    let mut bytes = Vec::with_capacity(line.len() + 1);
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    file.write_all(&bytes)
}

impl Written {
    fn count(&mut self, line: &str, running: &Instance) {
        match serde_json::from_str(line) {
            Ok(RecordingLine::Call(_)) => self.calls += 1,
            Ok(RecordingLine::Dropped(number)) => self.dropped += number,
            Ok(RecordingLine::Start(_)) if !output::is_quiet() => {
                output::err(&format!("recording the calls of process {}; press Ctrl-C to stop", running.pid));
            }
            _ => {}
        }
    }
}

fn exists(path: &Path) -> CommandFailure {
    let problem = Diagnostic::error(format!("`{}` already exists", path.display()));
    CommandFailure::config(vec![problem.hint("remove it, or choose another name: a recording is never overwritten")])
}

fn unwritable(path: &Path, error: &std::io::Error) -> CommandFailure {
    CommandFailure::failed(Diagnostic::error(format!("cannot write `{}`: {error}", path.display())))
}
