//! `proxy explain TOOL --client ROW`: how clients of a row get a tool, step by step.

use serde_json::{Value, json};

use crate::cli::commands::client_rows::rows;
use crate::cli::failure::CommandFailure;
use crate::cli::output;
use crate::cli::query::ActingUser;
use crate::cli::setup::{self, LoadedConfig};
use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_dialects::{Dialect, Lowered, Step};
use proxy_engine::gateway::Offline;
use proxy_engine::surface::{Surface, histories};
use proxy_model::ItemKind;

pub(super) fn run(
    loaded: &LoadedConfig,
    user: ActingUser,
    name: &str,
    row: &str,
    as_json: bool,
) -> Result<(), CommandFailure> {
    let offline = Offline::look(&loaded.config, &setup::options(loaded.bundled)?).map_err(CommandFailure::config)?;
    output::diagnostics(&offline.extension_problems);
    let mut paragraphs = Vec::new();
    let mut reports = Vec::new();
    for dialect in rows(loaded, Some(row))? {
        let surface = offline.build_for_row(user.principal.clone(), &dialect.row);
        let surface = surface.map_err(|error| CommandFailure::from(&error))?;
        if let Some(report) = Report::of(&surface, &dialect, name) {
            paragraphs.push(report.paragraph());
            reports.push(report.to_json());
            continue;
        }
        // Not in the list: a client of this row may get another one.
        let items = histories(&surface, &offline.snapshot);
        let found = super::matching(name, &items);
        if found.is_empty() {
            return Err(unknown(&surface, &dialect, name));
        }
        let logged: Vec<String> = surface
            .log
            .iter()
            .map(|line| format!("  the script logged: {}", output::one_line(&line.message)))
            .collect();
        for item in found {
            let lines: Vec<String> = std::iter::once(super::words::paragraph(item)).chain(logged.clone()).collect();
            paragraphs.push(lines.join("\n"));
            reports.push(json!({"row": &*dialect.row, "tool": name, "history": item}));
        }
    }
    if as_json {
        output::json(&reports);
    } else {
        output::out(&paragraphs.join("\n\n"));
    }
    Ok(())
}

fn unknown(surface: &Surface, dialect: &Dialect, name: &str) -> CommandFailure {
    let names: Vec<&str> = surface.tools().map(|tool| tool.definition.key()).collect();
    let problem = Diagnostic::error(format!("no tool `{name}` is published to clients of the row `{}`", dialect.row));
    CommandFailure::failed(match nearest(name, names.iter().copied()) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint("`proxy explain` without `--client` lists all items"),
    })
}

/// A tool as clients of one row get it.
struct Report {
    row: String,
    name: String,
    left_out: Option<String>,
    short_name: Option<String>,
    checked: bool,
    changes: Vec<(Step, String, String)>,
    definition: Option<Value>,
}

impl Report {
    /// `None` if no such tool is listed.
    fn of(surface: &Surface, dialect: &Dialect, name: &str) -> Option<Self> {
        let tool = surface.tool(surface.key_for(Some(dialect), ItemKind::Tool, name))?;
        let lowered = tool.lowered(surface.dialects(), dialect);
        let changes = lowered.into_iter().flat_map(|lowered| &lowered.changes);
        let text = lowered.and_then(Lowered::text);
        Some(Report {
            row: dialect.row.to_string(),
            name: tool.definition.key().to_owned(),
            left_out: surface.left_out(dialect, tool),
            short_name: lowered.and_then(|lowered| lowered.short_name.clone()),
            checked: lowered.is_some_and(|lowered| lowered.takes_constraint),
            changes: changes.map(|change| (change.step, change.pointer.clone(), change.what.clone())).collect(),
            definition: text.and_then(|text| serde_json::from_str(text.get()).ok()),
        })
    }

    fn paragraph(&self) -> String {
        let mut lines = vec![format!("{} for clients of the row {}", output::one_line(&self.name), self.row)];
        if let Some(why) = &self.left_out {
            lines.push(format!("  not listed: {why}"));
        }
        if self.changes.is_empty() {
            lines.push("  as published".to_owned());
        }
        if let Some(short) = &self.short_name {
            lines.push(format!("  listed as {short}"));
        }
        for (step, pointer, what) in &self.changes {
            let place = if pointer.is_empty() { String::new() } else { format!(" {pointer}") };
            lines.push(format!("  {}{}: {}", step.as_str(), output::one_line(&place), output::one_line(what)));
        }
        if self.checked {
            lines.push("  the proxy checks its arguments against the published schema".to_owned());
        }
        lines.join("\n")
    }

    fn to_json(&self) -> Value {
        let changes = self
            .changes
            .iter()
            .map(|(step, pointer, what)| json!({"step": step.as_str(), "pointer": pointer, "what": what}));
        json!({
            "row": self.row,
            "tool": self.name,
            "leftOut": self.left_out,
            "shortName": self.short_name,
            "checked": self.checked,
            "changes": changes.collect::<Vec<_>>(),
            "definition": self.definition,
        })
    }
}
