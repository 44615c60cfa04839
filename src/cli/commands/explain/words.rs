//! The history of an item in words.

use crate::cli::output::one_line;
use proxy_engine::surface::{Became, ItemHistory, MemberEdit};
use proxy_script::CallSite;

/// What happened to an item, in a few words: `wrapped as say (changed: description)`.
pub(in crate::cli::commands) fn outcome(item: &ItemHistory) -> String {
    let mut outcome = item.became.as_str().to_owned();
    if let Some(published) = item.published_as.as_ref().filter(|_| item.is_renamed()) {
        outcome.push_str(&format!(" as {published}"));
    }
    if !item.changed.is_empty() {
        outcome.push_str(&format!(" (changed: {})", item.changed.join(", ")));
    }
    outcome
}

/// Why an item is not listed; `None` if it is.
pub(super) fn reason(item: &ItemHistory) -> Option<String> {
    match (item.became, &item.why) {
        (_, Some(why)) => Some(why.clone()),
        (Became::Hidden, None) => Some("no `publish()` mentions it".to_owned()),
        (Became::Searchable, None) => Some("a search index of the script has it".to_owned()),
        _ => None,
    }
}

/// Why an item was renamed; `None` if it was not, or if the script gives no reason.
pub(super) fn rename_reason(item: &ItemHistory) -> Option<String> {
    let is_rename = |edit: &&MemberEdit| edit.members.iter().any(|member| member == item.kind.key_member());
    item.edits.iter().rfind(is_rename)?.why.clone()
}

/// Everything known about an item, one fact per line, with the script lines.
pub(super) fn paragraph(item: &ItemHistory) -> String {
    let name = item.published_as.as_ref().unwrap_or(&item.name);
    let mut facts = Vec::new();
    if item.became != Became::Made {
        let own = if item.is_renamed() { format!(" as {}", item.name) } else { String::new() };
        facts.push(format!("offered by {}{own}", item.server));
    }
    for edit in &item.edits {
        let (key, others): (Vec<&String>, Vec<&String>) =
            edit.members.iter().partition(|member| *member == item.kind.key_member());
        let because = edit.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        if !key.is_empty() {
            facts.push(format!("renamed at {}{because}", edit.at));
        }
        if !others.is_empty() {
            let others: Vec<&str> = others.into_iter().map(String::as_str).collect();
            facts.push(format!("rewritten: {} (at {}{because})", others.join(", "), edit.at));
        }
    }
    match item.handler.as_deref() {
        Some("lambda") if item.became == Became::Wrapped => facts.push("wrapped by a lambda".to_owned()),
        Some(handler) if item.became == Became::Wrapped => facts.push(format!("wrapped by `{handler}`")),
        _ => {}
    }
    facts.push(end(item));
    facts.extend(item.lock.iter().map(|state| format!("lock: {state}")));
    facts.extend(item.policies.iter().map(|reason| format!("policies: {reason}")));
    facts.extend(item.labels.iter().map(|labels| format!("labels: {labels}")));
    facts.extend(item.flow.iter().map(|rule| format!("flow: {rule}")));
    let facts: Vec<String> = facts.iter().map(|fact| format!("  {}", one_line(fact))).collect();
    format!("{} ({})\n{}", one_line(name), item.kind.noun(), facts.join("\n"))
}

/// The last fact: what a client sees.
fn end(item: &ItemHistory) -> String {
    let at = |site: &Option<CallSite>| site.as_ref().map(|site| format!(" at {site}")).unwrap_or_default();
    let line = item.skipped_at.as_ref().map(|site| format!(" ({site})")).unwrap_or_default();
    let reason = reason(item).unwrap_or_default();
    match item.became {
        Became::Forwarded | Became::Wrapped => format!("published{}", at(&item.published_at)),
        Became::Made => format!("made by the script, published{}", at(&item.published_at)),
        Became::Searchable => format!("not listed: {reason}{line}"),
        Became::Hidden => format!("not published: {reason}{line}"),
    }
}
