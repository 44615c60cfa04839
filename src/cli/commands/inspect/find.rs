//! `proxy find QUERY`: shows what `find_tool` would return, with scores and matched words.

use clap::Args;

use crate::admin::FoundTool;
use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, QueryArgs};
use crate::cli::{output, table};
use crate::diagnostic::Diagnostic;

#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// Description of what the tool should do
    #[arg(value_name = "QUERY", required = true)]
    words: Vec<String>,
    /// Maximum number of tools
    #[arg(long, value_name = "N", default_value_t = 8)]
    limit: usize,
    #[command(flatten)]
    query: QueryArgs,
    /// Print the definitions, scores and matched words as JSON
    #[arg(long)]
    json: bool,
}

pub(in crate::cli::commands) fn run(args: &FindArgs) -> Result<(), CommandFailure> {
    let words = args.words.join(" ");
    let limit = args.limit;
    if words.trim().is_empty() {
        return Err(CommandFailure::usage("QUERY is empty: describe what the tool should do"));
    }
    if limit == 0 {
        return Err(CommandFailure::usage("--limit must be 1 or more"));
    }
    let loaded = args.query.source.load()?;
    let (found, of) = query::answer(&args.query.query(&loaded, args.json), async |answers| {
        query::report_missing(answers, &answers.report().await?);
        answers.find(&words, limit).await
    })?;
    if args.json {
        output::json(&found);
    } else if !found.is_empty() {
        let rows: Vec<Vec<String>> = found.iter().map(as_row).collect();
        output::out(&table::render(&["SCORE", "TOOL", "SERVER", "MATCHED", "DESCRIPTION"], &rows));
    }
    if found.is_empty() && !args.json {
        let message = format!("no match among {}", table::count(of, "tool"));
        return Err(CommandFailure::failed(
            Diagnostic::error(message).hint("try other words; `proxy list-tools` lists all tools"),
        ));
    }
    Ok(())
}

fn as_row(found: &FoundTool) -> Vec<String> {
    let text = |member: &str| found.tool[member].as_str().unwrap_or_default();
    vec![
        format!("{:.2}", found.score),
        text("name").to_owned(),
        found.server.clone(),
        found.matched.join(" "),
        table::first_line(text("description")).to_owned(),
    ]
}
