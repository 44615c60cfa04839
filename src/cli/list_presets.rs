//! `proxy list-presets`: the session scripts shipped in the binary.

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::{output, table};
use crate::builtins::presets::PRESETS;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.json {
        let presets: Vec<_> = PRESETS
            .iter()
            .map(|preset| json!({"name": preset.name, "version": preset.version, "summary": preset.summary}))
            .collect();
        output::json(&presets);
        return Ok(());
    }
    let rows: Vec<Vec<String>> =
        PRESETS.iter().map(|preset| vec![preset.full_name(), preset.summary.to_owned()]).collect();
    output::out(&table::render(&["PRESET", "WHAT IT DOES"], &rows));
    Ok(())
}
