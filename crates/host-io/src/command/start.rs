//! Starts a command: which program, with which environment.

use std::io;
use std::path::PathBuf;

use super::Command;
use super::progress_lines::ProgressLines;
use super::running::{CommandStreams, RunningCommand};
use crate::HostIo;
use proxy_base::process::{Child, DESCENDANT_MARK, DescriptorThree, Launch, base_environment, program_in, watchdog};

/// Starts a program with the arguments, the input and the variables of a command. `progress` becomes its descriptor 3.
pub(super) fn start(
    reach: &HostIo,
    command: &Command,
    program: PathBuf,
    folder: Option<PathBuf>,
    progress: Option<DescriptorThree>,
) -> io::Result<(RunningCommand, CommandStreams)> {
    let mut environment = base_environment(reach.variables.iter().cloned(), |_| false);
    environment.retain(|(name, _)| command.env.iter().all(|(own, _)| own != name));
    environment.extend(command.env.iter().cloned());
    environment.push((DESCENDANT_MARK.to_owned(), uuid::Uuid::new_v4().to_string()));
    let launch = Launch { program, args: command.args.clone(), environment, folder, terminal: true };
    if let Some(executable) = &reach.executable
        && let Err(error) = watchdog::start(executable)
    {
        tracing::warn!(%error, "the watchdog did not start: commands may keep running if the proxy is killed");
    }
    let (child, stdin, stdout, stderr) = Child::start_with(&launch, progress.as_ref())?;
    let progress = progress.map(DescriptorThree::into_reader).transpose()?.map(ProgressLines::new);
    let streams = CommandStreams { stdin, stdout, stderr, input: command.stdin.clone(), progress };
    Ok((RunningCommand::new(child), streams))
}

/// Finds a program in the `PATH` of the proxy. A `PATH` that the script sets must not change which program runs.
pub(super) fn find_in_path(command: &str, reach: &HostIo) -> Result<PathBuf, String> {
    program_in(reach.variable("PATH").unwrap_or_default().as_ref(), command)
        .ok_or_else(|| format!("command `{command}` not found"))
}
