//! `proxy show-preset NAME`: a preset's source, ready to fork.

use clap::Args;

use super::failure::Failure;
use super::output;
use crate::builtins::presets;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// `default`, `default@1`, ...
    name: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let preset = presets::find(&arguments.name)?;
    output::out(preset.source.trim_end());
    Ok(())
}
