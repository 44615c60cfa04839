//! How well and how fast tools are found: `cargo bench --bench retrieval -- FOLDER`.
//!
//! Every folder below FOLDER with a `tools.jsonl` (`{server, name, description, inputSchema}`) is a set; its queries are
//! in `queries*.jsonl` (`{query_id, query, gold: ["server/name"], gold_groups}`; a group lists tools that serve equally).

#![expect(unreachable_pub, reason = "a test program exports nothing; `pub` separates what its modules share")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints a table")]

mod data;
mod metrics;
mod run;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let folders: Vec<PathBuf> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).map(Into::into).collect();
    if folders.is_empty() {
        eprintln!("which data? cargo bench --bench retrieval -- FOLDER");
        // Not a failure: `cargo bench` without arguments runs this program too.
        return ExitCode::SUCCESS;
    }
    let mut measured = Vec::new();
    for folder in &folders {
        match data::sets(folder) {
            Ok(sets) => measured.extend(sets.iter().map(run::measure)),
            Err(error) => {
                eprintln!("{}: {error}", folder.display());
                return ExitCode::FAILURE;
            }
        }
    }
    table::print(&measured);
    ExitCode::SUCCESS
}
