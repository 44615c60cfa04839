//! `proxy prompt NAME`: gets a published prompt as a client would.

use clap::Args;
use serde_json::json;

use super::arguments::Arguments;
use super::item::ItemOptions;
use super::show;
use crate::cli::failure::CommandFailure;
use crate::cli::output;
use proxy_model::ItemKind;

#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// Published name of the prompt
    prompt: String,
    #[command(flatten)]
    arguments: Arguments,
    #[command(flatten)]
    options: ItemOptions,
}

pub(in crate::cli::commands) fn run(args: &PromptArgs) -> Result<(), CommandFailure> {
    let arguments = args.arguments.read()?;
    let result = args.options.use_item(ItemKind::Prompt, &args.prompt, |_| {
        // The arguments of a prompt are texts.
        Ok(json!({"name": args.prompt, "arguments": arguments.values(|_| true)}))
    })?;
    if args.options.json {
        output::json(&result);
    } else {
        show::messages(&result);
    }
    Ok(())
}
