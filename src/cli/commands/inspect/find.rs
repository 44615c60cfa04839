//! `proxy find QUERY`: shows what `find_tool` would return, and why. With `--eval`, measures it.

use std::path::PathBuf;

use clap::Args;

use super::evaluation;
use crate::admin::{FindRequest, FoundTool};
use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, Query, QueryArgs};
use crate::cli::setup::LoadedConfig;
use crate::cli::{output, table};
use proxy_base::diagnostic::Diagnostic;

#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// Description of what the tool should do
    #[arg(value_name = "QUERY", required_unless_present = "eval", conflicts_with = "eval")]
    words: Vec<String>,
    /// Maximum number of tools
    #[arg(long, value_name = "N", default_value_t = 8, conflicts_with = "eval")]
    limit: usize,
    /// Compare words only, not meaning
    #[arg(long = "words")]
    by_words: bool,
    /// Measure how well queries find the tools: each line is {"query": "...", "tool": "NAME"}, or has a list as "tools"
    #[arg(long, value_name = "QUERIES.jsonl")]
    eval: Option<PathBuf>,
    #[command(flatten)]
    query: QueryArgs,
    /// Print JSON: the definitions with their scores, or the measured values
    #[arg(long)]
    json: bool,
}

pub(in crate::cli::commands) fn run(args: &FindArgs) -> Result<(), CommandFailure> {
    if args.limit == 0 {
        return Err(CommandFailure::usage("--limit must be 1 or more"));
    }
    if let Some(file) = &args.eval {
        let expected = evaluation::read(file)?;
        let loaded = args.query.load()?;
        let outcome = query::answer(&args.asked(&loaded)?, async |answers| {
            query::report_missing(answers, &answers.report().await?);
            evaluation::run(answers, expected, args.by_words).await
        })?;
        output::diagnostics(outcome.warning().as_slice());
        if args.json {
            output::json(&outcome);
        } else {
            output::out(&outcome.to_text());
        }
        return Ok(());
    }
    let words = args.words.join(" ");
    if words.trim().is_empty() {
        return Err(CommandFailure::usage("QUERY is empty: describe what the tool should do"));
    }
    let loaded = args.query.load()?;
    let request = FindRequest { query: words, limit: args.limit, by_words: args.by_words };
    let query = args.asked(&loaded)?;
    let (found, of) = query::answer(&query, async |answers| {
        query::report_missing(answers, &answers.report().await?);
        answers.find(&request).await
    })?;
    if args.json {
        output::json(&found);
    } else if !found.is_empty() {
        output::out(&rendered(&found));
    }
    if found.is_empty() && !args.json {
        let message = format!("no match among {}", table::count(of, "tool"));
        return Err(CommandFailure::failed(
            Diagnostic::error(message)
                .hint(format!("try other words; `proxy list-tools{}` lists all tools", query.user.option())),
        ));
    }
    Ok(())
}

impl FindArgs {
    fn asked<'a>(&self, loaded: &'a LoadedConfig) -> Result<Query<'a>, CommandFailure> {
        Ok(Query { search_by_meaning: !self.by_words, ..self.query.query(loaded, self.json)? })
    }
}

/// The table. The parts of the score are shown if there are two.
fn rendered(found: &[FoundTool]) -> String {
    let by_meaning = found.iter().any(|found| found.meaning.is_some());
    let parts: &[&str] = if by_meaning { &["WORDS", "MEANING"] } else { &[] };
    let header: Vec<&str> =
        ["SCORE"].iter().chain(parts).chain(&["TOOL", "SERVER", "MATCHED", "DESCRIPTION"]).copied().collect();
    let rows: Vec<Vec<String>> = found.iter().map(|found| as_row(found, by_meaning)).collect();
    table::render(&header, &rows)
}

fn as_row(found: &FoundTool, by_meaning: bool) -> Vec<String> {
    let text = |member: &str| found.tool[member].as_str().unwrap_or_default();
    let mut row = vec![format!("{:.2}", found.score)];
    if by_meaning {
        row.push(format!("{:.2}", found.words));
        row.push(format!("{:.2}", found.meaning.unwrap_or_default()));
    }
    row.extend([
        text("name").to_owned(),
        found.server.clone(),
        found.matched.join(" "),
        table::first_line(text("description")).to_owned(),
    ]);
    row
}
