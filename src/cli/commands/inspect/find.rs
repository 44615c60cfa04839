//! `proxy find QUERY`: shows what `find_tool` would return, with scores and matched words.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, QueryArgs};
use crate::cli::setup;
use crate::cli::{output, table};
use crate::diagnostic::Diagnostic;
use crate::search::{Hit, Index};

/// How long to wait for the vectors of an embedding server. After that, the word score alone decides.
const EMBEDDING_WAIT: Duration = Duration::from_secs(30);

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
    let (shared, hits) = query::with_gateway(&args.query, !args.json, async |gateway, surface| {
        setup::report_missing(gateway);
        let shared = surface.search_index();
        // Requests to an embedding server run on this runtime, so the search must not block it.
        let found = tokio::task::spawn_blocking(move || {
            let index = shared.ready();
            index.settle(EMBEDDING_WAIT);
            let hits = index.search(&words, limit);
            (shared, hits)
        });
        found.await.map_err(|error| CommandFailure::failed(Diagnostic::error(error.to_string())))
    })?;
    let index = shared.ready();
    if args.json {
        let found: Vec<Value> = hits.iter().map(|hit| as_json(index, hit)).collect();
        output::json(&found);
    } else if !hits.is_empty() {
        let rows: Vec<Vec<String>> = hits.iter().map(|hit| as_row(index, hit)).collect();
        output::out(&table::render(&["SCORE", "TOOL", "SERVER", "MATCHED", "DESCRIPTION"], &rows));
    }
    if hits.is_empty() && !args.json {
        let message = format!("no match among {}", table::count(index.tools().len(), "tool"));
        return Err(CommandFailure::failed(
            Diagnostic::error(message).hint("try other words; `proxy list-tools` lists all tools"),
        ));
    }
    Ok(())
}

fn as_json(index: &Index, hit: &Hit) -> Value {
    let tool = &index.tools()[hit.tool];
    json!({
        "score": rounded(hit.score),
        "matched": hit.matched,
        "server": tool.server.as_ref(),
        "tool": serde_json::from_str::<Value>(tool.definition.raw().get()).unwrap_or_default(),
    })
}

fn as_row(index: &Index, hit: &Hit) -> Vec<String> {
    let tool = &index.tools()[hit.tool];
    vec![
        format!("{:.2}", hit.score),
        tool.definition.key().to_owned(),
        tool.server.to_string(),
        hit.matched.join(" "),
        table::first_line(&tool.definition.text("description")).to_owned(),
    ]
}

fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1000.0).round() / 1000.0
}
