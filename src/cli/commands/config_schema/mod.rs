//! `proxy config-schema`: prints the JSON Schema of config files, for editors.

mod descriptions;

use clap::Args;

use crate::cli::failure::CommandFailure;
use crate::cli::output;
use proxy_config as config;

#[derive(Debug, Args)]
pub(crate) struct ConfigSchemaArgs {}

pub(super) fn run(_args: &ConfigSchemaArgs) -> Result<(), CommandFailure> {
    output::out(&text());
    Ok(())
}

/// The schema as text, with the documentation of each key.
pub(super) fn text() -> String {
    let pages = descriptions::DescribedKeys::read();
    let schema = config::json_schema(&|keys| match keys {
        // What a profile replaces is described where the top level has it.
        ["profiles", section, _, ..] if *section != "auth" => pages.about(&keys[1..]),
        _ => pages.about(keys),
    });
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}
