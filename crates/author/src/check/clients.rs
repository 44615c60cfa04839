//! What clients of a row get in another form, or not at all.

use proxy_base::diagnostic::Diagnostic;
use proxy_dialects::{Dialect, Step};
use proxy_engine::surface::{PublishedItem, Surface};

/// How many changes of a tool are told.
const MAX_TOLD: usize = 4;

/// A warning for each tool that clients of this row get in another form, and an error for each that they do not get.
pub(super) fn problems(surface: &Surface, row: &Dialect) -> impl Iterator<Item = Diagnostic> {
    surface.tools().filter_map(|tool| of_tool(surface, row, tool)).chain(too_many(surface, row))
}

fn of_tool(surface: &Surface, row: &Dialect, tool: &PublishedItem) -> Option<Diagnostic> {
    let name = tool.definition.key();
    if let Some(why) = surface.left_out(row, tool) {
        let error = Diagnostic::error(format!("`{name}` is not listed for clients of the row `{}`: {why}", row.row));
        return Some(error.hint("publish it under another name, or with other property names"));
    }
    let lowered = tool.lowered(surface.dialects(), row).filter(|lowered| lowered.is_changed())?;
    let mut told: Vec<String> = Vec::new();
    for step in Step::ALL {
        let of_step: Vec<_> = lowered.changes.iter().filter(|change| change.step == step).collect();
        if let Some(first) = of_step.first() {
            let more = if of_step.len() > 1 { format!(" and {} more", of_step.len() - 1) } else { String::new() };
            let place = if first.pointer.is_empty() { String::new() } else { format!(" at `{}`", first.pointer) };
            told.push(format!("{}{place}: {}{more}", step.as_str(), first.what));
        }
    }
    let more = told.len().saturating_sub(MAX_TOLD);
    told.truncate(MAX_TOLD);
    if more > 0 {
        told.push(format!("{more} more steps"));
    }
    let warning = format!("clients of the row `{}` get `{name}` in another form: {}", row.row, told.join("; "));
    let hint = format!("`proxy explain {name} --client {}` shows each change", row.row);
    Some(Diagnostic::warning(warning).hint(hint))
}

/// A warning if a client takes fewer tools than are listed.
fn too_many(surface: &Surface, row: &Dialect) -> Option<Diagnostic> {
    let limit = row.limits.tools?;
    let listed = surface.listed(proxy_model::ItemKind::Tool);
    if listed <= limit {
        return None;
    }
    let warning = format!("{listed} tools are listed, but clients of the row `{}` take at most {limit}", row.row);
    Some(Diagnostic::warning(warning).hint("list fewer, or let `optimizer.aboveClientLimit` replace the list"))
}
