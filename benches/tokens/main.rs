//! What tools cost a model over whole tasks: `benches/tokens/run FOLDER`, or `cargo bench --bench tokens -- FOLDER`.
//!
//! FOLDER has a `tools.jsonl` as `benches/retrieval` reads it. The tasks in `tasks.json` are for the tools of LiveMCPBench;
//! their calls are fixed and their results recorded, so no model is needed. `--tokenizer=FILE` is a Node.js program that
//! counts tokens, for the error of the estimate; `--page=FILE` writes the tables into a page, between the comments that mark
//! their place.

#![expect(unreachable_pub, reason = "a test program exports nothing; `pub` separates what its modules share")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints a table")]

#[path = "../answer.rs"]
mod answer;
mod conversation;
mod modes;
mod page;
mod tables;
mod tasks;
mod tokenizer;
mod tools;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let (options, folders): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|arg| arg.starts_with('-'));
    let [folder] = folders.as_slice() else {
        eprintln!("which data? benches/tokens/run FOLDER");
        // Not a failure: `cargo bench` without arguments runs this program too.
        return ExitCode::SUCCESS;
    };
    match measure(folder.as_ref(), &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(folder: &Path, options: &[String]) -> Result<(), String> {
    let option = |name: &str| options.iter().find_map(|option| option.strip_prefix(name));
    let snapshot = tools::snapshot(folder)?;
    let tasks = tasks::read()?;
    let measured = modes::measure(&snapshot, &tasks)?;
    let mut tables = tables::of_modes(&measured);
    tables.push_str(&tables::of_tasks(&tasks, &measured));
    if let Some(program) = option("--tokenizer=") {
        tables.push_str(&tables::of_errors(&tokenizer::compare(program.as_ref(), &snapshot, &measured)?));
    }
    print!("{tables}");
    match option("--page=") {
        Some(file) => page::write(file.as_ref(), &tables),
        None => Ok(()),
    }
}
