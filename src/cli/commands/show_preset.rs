//! `proxy show-preset NAME`: prints the source of a preset.

use clap::Args;

use crate::builtins::presets;
use crate::cli::failure::CommandFailure;
use crate::cli::output;

#[derive(Debug, Args)]
pub(crate) struct ShowPresetArgs {
    /// Name of the preset, such as `default` or `default@1`
    name: String,
}

pub(super) fn run(args: &ShowPresetArgs) -> Result<(), CommandFailure> {
    let preset = presets::find(&args.name)?;
    output::out(preset.source.trim_end());
    Ok(())
}
