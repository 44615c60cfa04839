//! `proxy show-preset NAME`: prints the source of a preset, or of the library that the presets share.

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::output;
use proxy_builtins::presets;

#[derive(Debug, Args)]
pub(crate) struct ShowPresetArgs {
    /// Name of the preset, such as `default` or `default@1`, or `lib@1` for the library
    name: String,
}

pub(super) fn run(args: &ShowPresetArgs) -> Result<(), CommandFailure> {
    output::out(presets::source_of(&args.name)?.trim_end());
    Ok(())
}
