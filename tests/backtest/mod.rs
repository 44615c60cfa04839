//! `proxy calls --record`, `proxy backtest` and `proxy calls --as-test`: what another version of the script does with calls
//! that have happened.

mod apis;
mod as_test;
mod flow;
mod recorded;
mod written;

use std::time::{Duration, Instant};

use tokio::process::{ChildStdin, ChildStdout};

use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::proxy::{Proxy, StdioProxy};

async fn serving(world: Proxy) -> StdioProxy {
    let mut proxy = world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.tools().await;
    proxy
}

/// A running `proxy calls --record calls.jsonl`.
struct Recorder {
    program: Program,
    _pipes: (ChildStdin, ChildStdout),
}

impl Recorder {
    /// Calls are recorded when this returns.
    async fn start(world: &Proxy) -> Self {
        let (program, stdin, stdout) = Program::start(world.command(["calls", "--record", "calls.jsonl", "--yes"]));
        program.stderr.line("recording the calls of process").await;
        Recorder { program, _pipes: (stdin, stdout) }
    }

    /// Presses Ctrl-C once the file has so many lines. Returns what the command said.
    async fn end(mut self, world: &Proxy, lines: usize) -> String {
        let (file, deadline) = (world.directory.path().join("calls.jsonl"), Instant::now() + LONG_PATIENCE);
        while std::fs::read_to_string(&file).expect("it is there").lines().count() < lines {
            assert!(Instant::now() < deadline, "waited in vain for {lines} lines in {}", file.display());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.program.interrupt();
        assert!(self.program.exit().await.success());
        self.program.stderr.whole().await
    }
}
