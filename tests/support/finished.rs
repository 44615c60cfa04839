//! A command that ran to its end: what it printed and how it ended.

use std::process::Command;

use serde_json::Value;
use tokio::io::AsyncReadExt;

use super::patience::{LONG_PATIENCE, within};
use super::program::Program;
use super::proxy::Proxy;

#[derive(Debug)]
pub struct Finished {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// Runs a command. Its stdin stays open and silent, so that `serve` ends only for a reason of its own.
    pub async fn run(command: Command) -> Self {
        let (mut program, _stdin, mut pipe) = Program::start(command);
        // Some commands start servers, or compute until a limit stops them.
        program.stderr.patience = LONG_PATIENCE;
        let log = program.stderr.clone();
        let mut stdout = String::new();
        within("the end of standard output", &log, pipe.read_to_string(&mut stdout)).await.expect("it is text");
        let code = program.exit().await.code().expect("it was not ended by a signal");
        Self { code, stdout, stderr: log.whole().await }
    }

    /// Fails, showing everything, unless it ended so.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n--- stdout ---\n{}\n--- stderr ---\n{}", self.stdout, self.stderr);
        self
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|problem| panic!("not JSON ({problem}): {}", self.stdout))
    }

    /// The first column of a table, without its header.
    pub fn column(&self) -> Vec<&str> {
        self.stdout.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect()
    }
}

impl Proxy {
    /// Runs any command of the proxy in this world to its end.
    pub async fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Finished {
        Finished::run(self.command(arguments)).await
    }
}
