//! `proxy call TOOL`: calls a published tool as a client would.

use clap::Args;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::item::ItemOptions;
use super::show;
use crate::cli::failure::CommandFailure;
use crate::cli::output;
use crate::model::ItemKind;

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// Published name of the tool
    tool: String,
    #[command(flatten)]
    arguments: Arguments,
    #[command(flatten)]
    options: ItemOptions,
}

pub(in crate::cli::commands) fn run(args: &CallArgs) -> Result<(), CommandFailure> {
    let arguments = args.arguments.read()?;
    let result = args.options.use_item(ItemKind::Tool, &args.tool, |tool| {
        let schema = tool.member("inputSchema").unwrap_or_default();
        let values = arguments.values(|name| schema["properties"][name]["type"] == "string");
        Ok(json!({"name": args.tool, "arguments": values}))
    })?;
    if args.options.json {
        output::json(&result);
    } else {
        show::tool_result(&result);
    }
    let failed = result.get("isError") == Some(&Value::Bool(true));
    if failed { Err(CommandFailure::already_reported(1)) } else { Ok(()) }
}
