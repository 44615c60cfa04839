//! `proxy list-presets`: lists the built-in session scripts.

use clap::Args;
use serde_json::json;

use crate::cli::failure::CommandFailure;
use crate::cli::{output, table};
use proxy_builtins::presets::{LIBRARIES, PRESETS};

#[derive(Debug, Args)]
pub(crate) struct ListPresetsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ListPresetsArgs) -> Result<(), CommandFailure> {
    if args.json {
        let presets: Vec<_> = PRESETS
            .iter()
            .map(|preset| json!({"name": preset.name, "version": preset.version, "summary": preset.summary}))
            .collect();
        output::json(&presets);
        return Ok(());
    }
    let mut rows: Vec<Vec<String>> =
        PRESETS.iter().map(|preset| vec![preset.full_name(), preset.summary.to_owned()]).collect();
    rows.extend(LIBRARIES.iter().map(|library| vec![library.name.to_owned(), library.summary.to_owned()]));
    output::out(&table::render(&["PRESET", "DESCRIPTION"], &rows));
    Ok(())
}
