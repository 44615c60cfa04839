//! The binary `proxy`: runs the command line, or one of the internal helper processes, or writes
//! the manual pages for packages.

use std::process::ExitCode;

use proxy_base::process::{first_process, watchdog};
use proxy_builtins as builtins;
use proxy_code_mode::sandbox;
use starlark_mcp_proxy::cli;

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1).unwrap_or_default();
    let done = if first == watchdog::ARGUMENT {
        watchdog::run()
    } else if first == sandbox::ARGUMENT {
        sandbox::run_zygote(builtins::pure)
    } else if first == sandbox::READER_ARGUMENT {
        let Ok(own) = sandbox::enter_reader() else { return ExitCode::FAILURE };
        let command: Vec<_> = std::env::args_os().skip(own).collect();
        return cli::run_confined(&command);
    } else if first == cli::MAN_PAGES {
        cli::write_man_pages(&std::env::args_os().nth(2).unwrap_or_default())
    } else if first_process::is_this() {
        return first_process::run().map_or(ExitCode::FAILURE, ExitCode::from);
    } else {
        return cli::run();
    };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
