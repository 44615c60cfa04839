//! `proxy completions SHELL`: prints a completion script.

use clap::Args;
use clap_complete::Shell;

use crate::cli::failure::CommandFailure;
use crate::cli::output;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to print the script for
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> Result<(), CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::cli::command(), "proxy", &mut script);
    output::bytes(&script);
    Ok(())
}
