//! `diff`: what drafts change, in the texts and in what is published.

use std::path::Path;

use serde_json::{Value, json};
use similar::TextDiff;

use super::arguments::Drafts;
use super::folder_copy::read_below;
use proxy_script::MAX_SOURCE;

/// The difference of the texts of each draft to what is saved, in the unified form.
pub(super) fn of_texts(root: &Path, drafts: &Drafts) -> Vec<Value> {
    let of_draft = |(path, text): (&super::script_path::ScriptPath, &String)| {
        // A link, a folder, what lies elsewhere or a text that is not UTF-8 is none of the scripts that drafts replace.
        let bytes = read_below(root, Path::new(path.as_str()), MAX_SOURCE as u64).ok();
        let bytes = bytes.filter(|bytes| bytes.len() <= MAX_SOURCE);
        let saved = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        let is_new = saved.is_none();
        let saved = saved.unwrap_or_default();
        let lines = TextDiff::from_lines(saved.as_str(), text.as_str());
        let shown = lines.unified_diff().context_radius(3).header("saved", "draft").to_string();
        json!({"path": path.as_str(), "new": is_new, "text": shown})
    };
    drafts.iter().map(of_draft).collect()
}

/// The difference of two reports of `proxy check --json`: items that only one of them publishes, and items that became something
/// else.
pub(super) fn of_published(before: &Value, after: &Value) -> Value {
    let published = |report: &Value| -> Vec<String> {
        let kinds = ["tools", "resources", "resourceTemplates", "prompts"];
        let all =
            kinds.iter().flat_map(|kind| report[*kind].as_array().into_iter().flatten().map(move |item| (kind, item)));
        all.map(|(kind, item)| format!("{kind}: {}", item["name"].as_str().unwrap_or_default())).collect()
    };
    let old = published(before);
    let new = published(after);
    let added: Vec<&String> = new.iter().filter(|name| !old.contains(name)).collect();
    let removed: Vec<&String> = old.iter().filter(|name| !new.contains(name)).collect();
    json!({"added": added, "removed": removed, "changed": changed(before, after)})
}

/// What became of the items that both have, where it differs.
fn changed(before: &Value, after: &Value) -> Vec<Value> {
    let items = |report: &Value| report["offered"].as_array().cloned().unwrap_or_default();
    let old = items(before);
    let is_same_item =
        |one: &Value, other: &Value| ["kind", "server", "name"].iter().all(|key| one[*key] == other[*key]);
    let mut found = Vec::new();
    for item in items(after) {
        let Some(was) = old.iter().find(|known| is_same_item(known, &item)) else { continue };
        let is = meaning(&item);
        let had = meaning(was);
        if is != had {
            found.push(
                json!({"server": item["server"], "kind": item["kind"], "name": item["name"], "was": had, "is": is}),
            );
        }
    }
    found
}

/// What a client notices of what became of an item, without the lines of the script.
fn meaning(item: &Value) -> Value {
    json!({
        "became": item["became"],
        "publishedAs": item["publishedAs"],
        "changed": item["changed"],
        "why": item["why"],
        "policies": item["policies"],
        "labels": item["labels"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_otherwise_is_told_without_the_lines() {
        let item = |name: &str, became: &str, line: u32| json!({"kind": "tool", "server": "a", "name": name, "became": became, "publishedAt": {"line": line}});
        let report = |tools: &[&str], offered: Value| {
            let tools: Vec<Value> = tools.iter().map(|name| json!({"name": name, "server": "a"})).collect();
            json!({"tools": tools, "offered": offered})
        };
        let before = report(&["x", "y"], json!([item("x", "forwarded", 1), item("y", "forwarded", 2)]));
        let after = report(&["x", "z"], json!([item("x", "forwarded", 9), item("y", "hidden", 2)]));
        let found = of_published(&before, &after);
        assert_eq!(found["added"], json!(["tools: z"]));
        assert_eq!(found["removed"], json!(["tools: y"]));
        assert_eq!(found["changed"][0]["name"], "y");
        assert_eq!(found["changed"].as_array().map(Vec::len), Some(1));
    }
}
