//! Claude Code rewrites its own file while it runs, so its program makes the changes where there is one.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::args::Place;
use crate::cli::failure::CommandFailure;
use crate::cli::{output, setup};
use proxy_base::diagnostic::Diagnostic;
use proxy_base::process::program_in;

const LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct ClaudeProgram(PathBuf);

impl ClaudeProgram {
    /// The program of the client, if the file is the one that it rewrites.
    pub(super) fn find(place: &Place) -> Option<ClaudeProgram> {
        if place.client.name != "claude-code" || place.is_project {
            return None;
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        program_in(&path, "claude").map(ClaudeProgram)
    }

    pub(super) fn add(&self, name: &str, entry: &Value) -> Result<(), CommandFailure> {
        self.run(&["mcp", "add-json", "--scope", "user", name, &entry.to_string()])
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), CommandFailure> {
        self.run(&["mcp", "remove", "--scope", "user", name])
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    fn run(&self, arguments: &[&str]) -> Result<(), CommandFailure> {
        let shown = format!("{} {}", self.0.display(), arguments[..2].join(" "));
        let mut command = tokio::process::Command::new(&self.0);
        command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        let runtime = setup::runtime()?;
        let ended = runtime.block_on(async { tokio::time::timeout(LIMIT, command.output()).await });
        let problem = match ended {
            Ok(Ok(done)) if done.status.success() => return Ok(()),
            Ok(Ok(done)) => {
                let said = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
                let problem = Diagnostic::error(format!("`{}` failed: {}", shown, done.status));
                problem.note(output::one_line(said.trim()).into_owned())
            }
            Ok(Err(error)) => Diagnostic::error(format!("cannot run `{shown}`: {error}")),
            Err(_) => Diagnostic::error(format!("`{shown}` did not end within {} s", LIMIT.as_secs())),
        };
        Err(CommandFailure::failed(problem.hint("run the command yourself to see why")))
    }
}
