//! `proxy read URI`: reads a published resource as a client would.

use clap::Args;
use serde_json::json;

use super::item::ItemOptions;
use super::show;
use crate::cli::failure::CommandFailure;
use crate::cli::output;
use proxy_model::ItemKind;

#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// URI of a published resource, or one that matches a published template
    uri: String,
    #[command(flatten)]
    options: ItemOptions,
}

pub(in crate::cli::commands) fn run(args: &ReadArgs) -> Result<(), CommandFailure> {
    let result = args.options.use_item(ItemKind::Resource, &args.uri, |_| Ok(json!({"uri": args.uri})))?;
    if args.options.json {
        output::json(&result);
    } else {
        show::contents(&result);
    }
    Ok(())
}
