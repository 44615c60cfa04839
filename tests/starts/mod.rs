//! Servers that start slowly, oddly or not at all: each is started as often as it must be, and waited for as long as that
//! is worth it.

mod attempts;
mod capabilities;
mod first_lists;
mod handshakes;
mod nineteen;
mod programs;
mod stopping;

use std::fs;
use std::process::Command;

use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::temp_dir::TempDir;

const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// A shell script that notes each of its starts in a file. `$0` is the program to go on with, `$@` its arguments.
fn noting(directory: &TempDir, script: &str, program: &Command) -> Command {
    let mut command = Command::new("sh");
    let line = format!("echo started >> {}; {script}", directory.path().join("starts").display());
    command.args(["-c", &line]).arg(program.get_program()).args(program.get_args());
    command
}

/// How often such a script was started.
fn starts(directory: &TempDir) -> usize {
    fs::read_to_string(directory.path().join("starts")).unwrap_or_default().lines().count()
}

/// A program that never answers.
fn hanging() -> Command {
    let mut command = Command::new("sleep");
    command.arg("3600");
    command
}

/// A server with these tools.
fn with_tools(tools: &str) -> Command {
    fake_backend(["--only", tools])
}

/// A client of a session that can be asked nothing.
async fn start(world: Proxy) -> StdioProxy {
    let mut proxy = world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}
