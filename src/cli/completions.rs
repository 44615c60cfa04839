//! `proxy completions SHELL`.

use clap::Args;
use clap_complete::Shell;

use super::failure::Failure;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments, mut command: clap::Command) -> Result<(), Failure> {
    clap_complete::generate(arguments.shell, &mut command, "proxy", &mut std::io::stdout());
    Ok(())
}
