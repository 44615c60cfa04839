//! `proxy call TOOL`: calls a published tool as a client would.

use clap::Args;
use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::item::ItemOptions;
use super::show;
use crate::cli::failure::CommandFailure;
use crate::cli::output;
use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_model::ItemKind;

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
        warn_of_misspelt(&args.tool, &values, &schema);
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

/// Warns about names that are probably misspelt, because most tools ignore unknown arguments.
fn warn_of_misspelt(tool: &str, values: &Map<String, Value>, schema: &Value) {
    let Some(known) = schema["properties"].as_object() else { return };
    for name in values.keys().filter(|name| !known.contains_key(*name)) {
        if let Some(near) = nearest(name, known.keys().map(String::as_str)) {
            let warning = Diagnostic::warning(format!("`{tool}` has no parameter `{name}`"));
            output::diagnostics(&[warning.hint(format!("did you mean `{near}`?"))]);
        }
    }
}
