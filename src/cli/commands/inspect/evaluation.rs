//! `proxy find --eval`: measures how well queries with known answers find the published tools.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::admin::FindRequest;
use crate::cli::failure::CommandFailure;
use crate::cli::query::Answers;
use crate::cli::table;
use proxy_base::diagnostic::Diagnostic;

/// How many results of a query are considered.
const DEPTH: usize = 10;

/// How many unpublished tools a warning names.
const MAX_NAMED: usize = 5;

/// A line of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    query: String,
    tool: Option<String>,
    #[serde(default)]
    tools: Vec<String>,
}

/// A query with the tools that it should find.
#[derive(Debug)]
pub(super) struct ExpectedTools {
    /// The number of its line in the file.
    line: usize,
    query: String,
    tools: Vec<String>,
}

/// Means over all queries, in per cent.
#[derive(Debug, Serialize)]
pub(super) struct Evaluation {
    queries: usize,
    /// The number of tools that can be found.
    of: usize,
    #[serde(rename = "recall@1")]
    recall_1: f64,
    #[serde(rename = "recall@5")]
    recall_5: f64,
    #[serde(rename = "recall@10")]
    recall_10: f64,
    /// The mean reciprocal rank of the first right tool.
    mrr: f64,
    /// The queries with a tool that is not among the first five.
    missed: Vec<MissedTools>,
    /// The lines that expect tools that no search can find. They count as missed.
    unpublished: Vec<UnpublishedTools>,
}

#[derive(Debug, Serialize)]
struct UnpublishedTools {
    line: usize,
    tools: Vec<String>,
}

#[derive(Debug, Serialize)]
struct MissedTools {
    query: String,
    /// The tools that are missing, with their place if they are among the first ten.
    missing: Vec<(String, Option<usize>)>,
    /// What was found instead, best first.
    found: Vec<String>,
}

/// Reads the queries.
pub(super) fn read(file: &Path) -> Result<Vec<ExpectedTools>, CommandFailure> {
    let shown = file.display();
    let failed = |message: String| {
        let diagnostic = Diagnostic::error(message);
        CommandFailure::failed(diagnostic.hint(r#"each line is {"query": "what to do", "tool": "name_of_the_tool"}"#))
    };
    let text = std::fs::read_to_string(file).map_err(|error| failed(format!("cannot read `{shown}`: {error}")))?;
    let mut queries = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let line: Line =
            serde_json::from_str(line).map_err(|error| failed(format!("`{shown}`, line {number}: {error}")))?;
        let tools: Vec<String> = line.tool.into_iter().chain(line.tools).collect();
        if tools.is_empty() || line.query.trim().is_empty() {
            return Err(failed(format!("`{shown}`, line {number}: a query and at least one tool are needed")));
        }
        queries.push(ExpectedTools { line: number, query: line.query, tools });
    }
    if queries.is_empty() {
        return Err(failed(format!("`{shown}` has no queries")));
    }
    Ok(queries)
}

/// Runs the queries.
pub(super) async fn run(
    answers: &Answers,
    queries: Vec<ExpectedTools>,
    by_words: bool,
) -> Result<Evaluation, CommandFailure> {
    let searchable = answers.searchable().await?;
    let mut found = Vec::with_capacity(queries.len());
    for expected in &queries {
        let request = FindRequest { query: expected.query.clone(), limit: DEPTH, by_words };
        let (tools, _) = answers.find(&request).await?;
        let name = |tool: &serde_json::Value| tool["name"].as_str().unwrap_or_default().to_owned();
        found.push(tools.iter().map(|found| name(&found.tool)).collect());
    }
    Ok(Evaluation::of(queries, found, &searchable))
}

impl Evaluation {
    fn of(queries: Vec<ExpectedTools>, found: Vec<Vec<String>>, searchable: &BTreeSet<String>) -> Self {
        let count = queries.len();
        let mut evaluation = Evaluation {
            queries: count,
            of: searchable.len(),
            recall_1: 0.0,
            recall_5: 0.0,
            recall_10: 0.0,
            mrr: 0.0,
            missed: vec![],
            unpublished: vec![],
        };
        for (ExpectedTools { line, query, tools }, found) in queries.into_iter().zip(found) {
            let unpublished: Vec<String> = tools.iter().filter(|tool| !searchable.contains(*tool)).cloned().collect();
            if !unpublished.is_empty() {
                evaluation.unpublished.push(UnpublishedTools { line, tools: unpublished });
            }
            let place = |tool: &String| found.iter().position(|found| found == tool).map(|at| at + 1);
            let recall = |first: usize| {
                let right = tools.iter().filter(|tool| place(tool).is_some_and(|place| place <= first)).count();
                100.0 * right as f64 / (tools.len() * count) as f64
            };
            evaluation.recall_1 += recall(1);
            evaluation.recall_5 += recall(5);
            evaluation.recall_10 += recall(DEPTH);
            let first = tools.iter().filter_map(place).min();
            evaluation.mrr += first.map_or(0.0, |place| 100.0 / (place * count) as f64);
            let missing: Vec<(String, Option<usize>)> = tools
                .iter()
                .map(|tool| (tool.clone(), place(tool)))
                .filter(|(_, place)| place.is_none_or(|place| place > 5))
                .collect();
            if !missing.is_empty() {
                let found = found.into_iter().take(5).collect();
                evaluation.missed.push(MissedTools { query, missing, found });
            }
        }
        evaluation
    }

    /// Warns about lines that expect unpublished tools, because the file may be older than the tool names.
    pub(super) fn warning(&self) -> Option<Diagnostic> {
        let first = self.unpublished.first()?;
        let names: BTreeSet<&String> = self.unpublished.iter().flat_map(|line| &line.tools).collect();
        let mut named: Vec<String> = names.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
        if names.len() > MAX_NAMED {
            named.push(format!("and {} more", names.len() - MAX_NAMED));
        }
        let (lines, of) = (self.unpublished.len(), table::count(self.queries, "line"));
        let expect = if lines == 1 { "expects" } else { "expect" };
        let message = format!("{lines} of {of} {expect} tools that are not published: {}", named.join(", "));
        let note = format!("an unpublished tool counts as missed; the first is in line {}", first.line);
        Some(Diagnostic::warning(message).note(note).hint("`proxy find WORDS` shows the published names"))
    }

    fn is_published(&self, tool: &str) -> bool {
        !self.unpublished.iter().flat_map(|line| &line.tools).any(|name| name == tool)
    }

    pub(super) fn to_text(&self) -> String {
        let of = table::count(self.of, "tool");
        let header = ["QUERIES", "TOOLS", "R@1", "R@5", "R@10", "MRR"];
        let [one, five, ten, mrr] =
            [self.recall_1, self.recall_5, self.recall_10, self.mrr].map(|value| format!("{value:.1}"));
        let mut text = table::render(&header, &[vec![self.queries.to_string(), of, one, five, ten, mrr]]);
        for missed in &self.missed {
            let missing: Vec<String> = missed
                .missing
                .iter()
                .map(|(tool, place)| match place {
                    Some(place) => format!("{tool} (place {place})"),
                    None if !self.is_published(tool) => format!("{tool} (not published)"),
                    None => format!("{tool} (not in the first {DEPTH})"),
                })
                .collect();
            let found = if missed.found.is_empty() { "nothing".to_owned() } else { missed.found.join(", ") };
            text.push_str(&format!("\nmissed: {}\n  wanted: {}\n  found: {found}\n", missed.query, missing.join(", ")));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn expected(line: usize, query: &str, tools: &[&str]) -> ExpectedTools {
        ExpectedTools { line, query: query.to_owned(), tools: names(tools) }
    }

    #[test]
    fn recall_is_the_share_of_the_right_tools() {
        let queries = vec![expected(1, "one", &["a"]), expected(2, "two", &["b", "c"])];
        let found = vec![names(&["a", "x"]), names(&["x", "b", "1", "2", "3", "c"])];
        let outcome = Evaluation::of(queries, found, &names(&["a", "b", "c", "x"]).into_iter().collect());
        let values = [outcome.recall_1, outcome.recall_5, outcome.recall_10, outcome.mrr];
        assert_eq!(values, [50.0, 75.0, 100.0, 75.0]);
        let text = outcome.to_text();
        assert!(text.contains("missed: two\n  wanted: c (place 6)\n  found: x, b, 1, 2, 3\n"), "{text}");
        assert!(outcome.warning().is_none());
    }

    #[test]
    fn a_warning_names_a_few_of_the_tools_that_are_not_published() {
        let old = ["old1", "old2", "old3", "old4", "old5", "old6"];
        let queries = vec![expected(1, "one", &["a"]), expected(4, "two", &["a", "old1"]), expected(5, "three", &old)];
        let found = vec![names(&["a"]), names(&["a"]), names(&["a"])];
        let outcome = Evaluation::of(queries, found, &names(&["a"]).into_iter().collect());
        let warning = outcome.warning().map(|warning| warning.to_string()).unwrap_or_default();
        let named =
            "2 of 3 lines expect tools that are not published: `old1`, `old2`, `old3`, `old4`, `old5`, and 1 more";
        assert!(warning.contains(named) && warning.contains("line 4"), "{warning}");
    }
}
