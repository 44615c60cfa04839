//! Executables that come with an extension, and report progress on descriptor 3.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::capture::Capture;
use super::progress_lines::CommandProgress;
use super::running::{RunLimits, finish};
use super::start::{find_in_path, start};
use super::{Command, check, outcome};
use crate::{Folder, HostIo};
use proxy_base::process::{DescriptorThree, is_executable};

/// Maximum size of the standard output in bytes. An executable that prints more is stopped.
pub const MAX_EXECUTABLE_OUTPUT: usize = 8 << 20;
/// How much of the end of the standard error is kept.
const KEPT_ERRORS: usize = 8 << 10;
/// How long an executable that keeps reporting progress may run.
const MAX_RUN: Duration = Duration::from_secs(60 * 60);
/// How often, and how soon, the start is tried again while somebody writes the file.
const BUSY_RETRIES: usize = 20;
const BUSY_DELAY: Duration = Duration::from_millis(25);

/// The program of a command: a path leads to a file in the folder of the extension, a name to a program in the `PATH`.
pub fn find_executable(command: &str, reach: &HostIo, folder: &Folder) -> Result<PathBuf, String> {
    if !command.contains('/') {
        return find_in_path(command, reach).map_err(|problem| match folder.path() {
            Some(own) if own.join(command).is_file() => {
                format!("{problem}; write `./{command}` for the file in the extension's folder")
            }
            _ => problem,
        });
    }
    let own = folder.path().ok_or_else(|| format!("`{command}` cannot be run: the extension has no folder"))?;
    let file = own.join(command).canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("`{command}` not found in the extension's folder"),
        _ => format!("`{command}` cannot be run: {error}"),
    })?;
    if !file.starts_with(own) {
        return Err(format!(
            "`{command}` leads out of the extension's folder; put the executable itself into the folder"
        ));
    }
    if !file.is_file() {
        return Err(format!("`{command}` is not a file"));
    }
    if !is_executable(&file) {
        return Err(format!(
            "`{command}` is not executable; run `chmod +x {}` in the extension's folder",
            command.trim_start_matches("./")
        ));
    }
    Ok(file)
}

/// Runs an executable in the folder of the extension until it exits, does not report progress for its timeout, or prints
/// too much. Returns the same dict as [`super::run`], with the end of the standard error.
pub async fn run_executable(
    reach: &HostIo,
    allowed: &[String],
    folder: &Folder,
    command: &Command,
    report: impl Fn(&CommandProgress),
) -> Result<Value, String> {
    check(&command.command, allowed)?;
    let timeout = command.timeout()?;
    let program = find_executable(&command.command, reach, folder)?;
    let mut retries = 0;
    let (running, streams) = loop {
        let started = DescriptorThree::open()
            .and_then(|progress| start(reach, command, program.clone(), folder.path().map(Into::into), Some(progress)));
        match started {
            Ok(started) => break started,
            // Whoever saves the file, or was started meanwhile by somebody who does, has it open for a moment.
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && retries < BUSY_RETRIES => {
                retries += 1;
                tokio::time::sleep(BUSY_DELAY).await;
            }
            Err(error) => return Err(not_started(&command.command, &error)),
        }
    };
    let (mut out, mut err) = (Capture::all(MAX_EXECUTABLE_OUTPUT), Capture::end(KEPT_ERRORS));
    let limits = RunLimits { timeout, most: timeout.max(MAX_RUN) };
    let end = finish(running, streams, (&mut out, &mut err), limits, report).await;
    let mut outcome = outcome(&end, &out, &err, false);
    outcome["truncated"] = out.is_truncated().into();
    Ok(outcome)
}

fn not_started(command: &str, error: &io::Error) -> String {
    let reason = match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::NotFound, _) => "the interpreter in its first line was not found".to_owned(),
        (_, Some(libc::ENOEXEC)) => "it is not a program; begin a script with a line such as `#!/bin/sh`".to_owned(),
        (io::ErrorKind::ArgumentListTooLong, _) => "its arguments are too long; pass them with `stdin`".to_owned(),
        _ => error.to_string(),
    };
    format!("`{command}` cannot be started: {reason}")
}
