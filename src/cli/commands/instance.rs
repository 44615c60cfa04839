//! The running proxies that a command may ask.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::{query, setup};
use proxy_base::control::{Instance, instances};
use proxy_base::diagnostic::Diagnostic;

// The arguments of commands about a server of a running proxy.
#[derive(Debug, Args)]
pub(crate) struct RunningServerArgs {
    /// Name of the server
    #[arg(value_name = "SERVER")]
    pub(super) server: String,
    /// Process id [default: the proxy that serves the current config]
    #[arg(long)]
    pub(super) pid: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// All running proxies of this user, or the one with this process id. Fails if there is none.
pub(super) fn all(pid: Option<u32>) -> Result<Vec<Instance>, CommandFailure> {
    let mut running = instances(&setup::control_folder()).map_err(cannot_look)?;
    if let Some(pid) = pid {
        running.retain(|instance| instance.pid == pid);
    }
    if running.is_empty() { Err(CommandFailure::failed(not_running(pid))) } else { Ok(running) }
}

/// All running proxies of this user; none if they cannot be looked for.
pub(super) fn running_instances() -> Vec<Instance> {
    instances(&setup::control_folder()).unwrap_or_default()
}

/// The running proxies that a command means: the one with this process id, or those that serve the current config, or all if
/// there is no config here. Fails if there is none: a command about one config must not act on another.
pub(super) fn meant(pid: Option<u32>) -> Result<Vec<Instance>, CommandFailure> {
    let running = all(pid)?;
    let config = match config_here() {
        Some(config) if pid.is_none() => config,
        _ => return Ok(running),
    };
    let (here, others): (Vec<Instance>, Vec<Instance>) =
        running.into_iter().partition(|instance| config_of(instance).as_ref() == Some(&config));
    if here.is_empty() { Err(CommandFailure::failed(not_served(&config, &others))) } else { Ok(here) }
}

/// The only proxy that a command means.
pub(super) fn one(pid: Option<u32>) -> Result<Instance, CommandFailure> {
    choose(meant(pid)?, "several proxies are running")
}

/// The only one of these. `problem` says why one has to be chosen.
pub(super) fn choose(mut running: Vec<Instance>, problem: &str) -> Result<Instance, CommandFailure> {
    if running.len() > 1 {
        let pids: Vec<u32> = running.iter().map(|instance| instance.pid).collect();
        return Err(several_running(problem, &pids));
    }
    running.pop().ok_or_else(|| CommandFailure::failed(not_running(None)))
}

/// The only one of these that serves the current config.
pub(super) fn serving_here(running: &[Instance]) -> Option<Instance> {
    let config = config_here()?;
    let mut here = running.iter().filter(|instance| config_of(instance).as_ref() == Some(&config));
    let only = here.next()?;
    if here.next().is_some() { None } else { Some(only.clone()) }
}

/// The current config: the file that a command without options uses.
fn config_here() -> Option<PathBuf> {
    let folder = std::env::current_dir().ok()?;
    let path = setup::find_config(None, &folder, setup::user_config_folder().as_deref()).ok()??;
    std::fs::canonicalize(path).ok()
}

/// The running proxies of this user that serve this config file.
pub(super) fn serving(config: &Path) -> Vec<Instance> {
    let Ok(config) = std::fs::canonicalize(config) else { return Vec::new() };
    running_instances().into_iter().filter(|instance| config_of(instance).as_ref() == Some(&config)).collect()
}

fn config_of(instance: &Instance) -> Option<PathBuf> {
    let status = query::status(instance).ok()?;
    // The path may be relative to the folder in which that proxy was started.
    let config = status.config?;
    let name = Path::new(&config).file_name()?;
    std::fs::canonicalize(Path::new(&status.folder).join(name)).ok()
}

/// The error if the user has to choose one of these.
fn several_running(problem: &str, pids: &[u32]) -> CommandFailure {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    CommandFailure::usage_with_hint(format!("{problem}: {}", pids.join(", ")), "choose one with `--pid PID`")
}

fn cannot_look(error: std::io::Error) -> CommandFailure {
    let problem = Diagnostic::error(format!("cannot look for running proxies: {error}"));
    CommandFailure::failed(problem.hint("remove the folder, and start the proxies again"))
}

/// The error if only proxies of other configs are running.
fn not_served(config: &Path, others: &[Instance]) -> Diagnostic {
    let served = |instance: &Instance| match config_of(instance) {
        Some(other) => format!("process {} serves `{}`", instance.pid, other.display()),
        None => format!("process {} serves no config file", instance.pid),
    };
    let others: Vec<String> = others.iter().map(served).collect();
    Diagnostic::error(format!("no running proxy serves `{}`", config.display()))
        .note(others.join(", "))
        .hint("start one with `proxy serve`, or choose another with `--pid PID`")
}

fn not_running(pid: Option<u32>) -> Diagnostic {
    match pid {
        Some(pid) => Diagnostic::error(format!("no `proxy serve` of this user is running as process {pid}"))
            .hint("`proxy status` without `--pid` lists the running ones"),
        None => Diagnostic::error("no `proxy serve` of this user is running")
            .hint("start one with `proxy serve`, or run `proxy list-servers --live` to check the configured servers"),
    }
}
