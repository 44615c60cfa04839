//! The binary `proxy`: arguments, run, exit code; nothing else.

use std::process::ExitCode;

use starlark_mcp_proxy::cli;
use starlark_mcp_proxy::process::watchdog;

/// A call is some dozens of small allocations; the system's allocator took a third of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == watchdog::ARGUMENT) {
        return if watchdog::run().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    cli::run()
}
