//! `proxy find QUERY`: what `find_tool` would return, with scores and reasons.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::failure::Failure;
use super::setup::{self, Source};
use super::{output, table};
use crate::diagnostic::Diagnostic;
use crate::search::{Hit, Index};

/// After that the words alone must do.
const EMBEDDING_WAIT: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What the tool should do, in plain words
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// How many tools
    #[arg(long, value_name = "N", default_value_t = 8)]
    limit: usize,
    #[command(flatten)]
    source: Source,
    /// Print JSON: the definitions with scores and matched words
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let query = arguments.query.join(" ");
    let limit = arguments.limit;
    if query.trim().is_empty() {
        return Err(Failure::usage("QUERY is empty: say what the tool should do"));
    }
    if limit == 0 {
        return Err(Failure::usage("--limit must be 1 or more"));
    }
    let (shared, hits) = setup::with_gateway(&arguments.source, None, async |gateway, surface| {
        setup::report_missing(gateway);
        let shared = surface.search_index();
        // An embedding server is asked through this runtime, which must go on meanwhile.
        let found = tokio::task::spawn_blocking(move || {
            let index = shared.ready();
            index.settle(EMBEDDING_WAIT);
            let hits = index.search(&query, limit);
            (shared, hits)
        });
        found.await.map_err(|error| Failure::failed(Diagnostic::error(error.to_string())))
    })?;
    let index = shared.ready();
    if arguments.json {
        let found: Vec<Value> = hits.iter().map(|hit| as_json(index, hit)).collect();
        output::json(&found);
    } else if !hits.is_empty() {
        let rows: Vec<Vec<String>> = hits.iter().map(|hit| as_row(index, hit)).collect();
        output::out(&table::render(&["SCORE", "TOOL", "SERVER", "MATCHED", "DESCRIPTION"], &rows));
    }
    if hits.is_empty() && !arguments.json {
        let message = format!("none of {} fits", table::count(index.tools().len(), "tool"));
        return Err(Failure::failed(
            Diagnostic::error(message).hint("say it in other words, or see `proxy list-tools`"),
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
