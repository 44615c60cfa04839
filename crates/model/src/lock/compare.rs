//! Compares a definition with the approved one: which members changed, and whether the approved text is still true of the
//! item.

use serde_json::{Map, Value};

use super::ignored_text::IgnoredText;
use super::wider::narrowing;
use crate::ItemKind;
use proxy_json::differences;

/// How a definition differs from the approved one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The members that differ; empty if none does.
    pub changed: Vec<String>,
    /// Why clients must not rely on the approved text; empty if they may.
    pub broken: Vec<String>,
}

/// The hints of a tool with the values that absent ones have, and the values of which the caller should beware.
const HINTS: [(&str, bool, bool); 4] = [
    ("readOnlyHint", false, false),
    ("destructiveHint", true, true),
    ("idempotentHint", false, false),
    ("openWorldHint", true, true),
];

/// Compares the definitions of an item.
pub fn compare(kind: ItemKind, approved: &Value, live: &Value, ignored: &IgnoredText) -> Comparison {
    let compared = |value: &Value| if ignored.is_empty() { value.clone() } else { ignored.blanked(value) };
    let Value::Object(approved) = compared(approved) else { return Comparison::default() };
    let Value::Object(live) = compared(live) else { return Comparison::default() };
    let changed = differences(&approved, &live);
    let broken = match kind {
        ItemKind::Tool => broken_tool(&approved, &live),
        ItemKind::Prompt => broken_prompt(&approved, &live),
        ItemKind::Resource | ItemKind::ResourceTemplate => Vec::new(),
    };
    Comparison { changed, broken }
}

fn broken_tool(approved: &Map<String, Value>, live: &Map<String, Value>) -> Vec<String> {
    let mut broken = Vec::new();
    let member = |definition: &Map<String, Value>, name: &str| definition.get(name).cloned().unwrap_or_default();
    if let Some(why) = narrowing(&member(approved, "inputSchema"), &member(live, "inputSchema")) {
        broken.push(format!("`inputSchema`: {why}"));
    }
    let is_same = |before: &Value, now: &Value| proxy_json::canonical(before) == proxy_json::canonical(now);
    if !is_same(&member(approved, "outputSchema"), &member(live, "outputSchema")) {
        broken.push("`outputSchema` changed".to_owned());
    }
    let task_support = |definition| member(definition, "execution")["taskSupport"].clone();
    if !is_same(&task_support(approved), &task_support(live)) {
        broken.push("`execution.taskSupport` changed".to_owned());
    }
    let before = member(approved, "annotations");
    let now = member(live, "annotations");
    for (hint, absent, beware) in HINTS {
        let value = |annotations: &Value| annotations[hint].as_bool().unwrap_or(absent);
        if value(&before) != beware && value(&now) == beware {
            broken.push(format!("`annotations.{hint}` was {} and is {beware} now", !beware));
        }
    }
    broken
}

/// An argument that is required now, or that is gone.
fn broken_prompt(approved: &Map<String, Value>, live: &Map<String, Value>) -> Vec<String> {
    let arguments = |definition: &Map<String, Value>| -> Vec<(String, bool)> {
        let list = definition.get("arguments").and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|argument| {
            let name = argument["name"].as_str()?.to_owned();
            Some((name, argument["required"] == Value::Bool(true)))
        })
        .collect()
    };
    let before = arguments(approved);
    let now = arguments(live);
    let gone = before.iter().filter(|(name, _)| !now.iter().any(|(other, _)| other == name));
    let gone = gone.map(|(name, _)| format!("`arguments`: `{name}` is gone"));
    let required = now.iter().filter(|(name, required)| *required && !before.contains(&(name.clone(), true)));
    gone.chain(required.map(|(name, _)| format!("`arguments`: `{name}` is required now"))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(more: Value) -> Value {
        let mut tool =
            json!({"name": "t", "description": "d", "inputSchema": {"type": "object", "properties": {"a": {}}}});
        tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tool
    }

    fn compared(approved: Value, live: Value) -> (Vec<String>, Vec<String>) {
        let Comparison { changed, broken } =
            compare(ItemKind::Tool, &tool(approved), &tool(live), &IgnoredText::default());
        (changed, broken)
    }

    #[test]
    fn texts_change_and_break_nothing() {
        let (changed, broken) = compared(json!({"title": "T"}), json!({"description": "other", "_meta": {}}));
        assert_eq!((changed, broken), (vec!["description".into(), "_meta".into(), "title".into()], Vec::new()));
        let wider = json!({"inputSchema": {"type": "object", "properties": {"a": {"description": "x"}, "b": {}}}});
        assert_eq!(compared(json!({}), wider), (vec!["inputSchema".to_owned()], Vec::new()));
        assert_eq!(compared(json!({}), json!({})), (Vec::new(), Vec::new()));
    }

    #[test]
    fn what_clients_rely_on_breaks() {
        let of = |approved, live| compared(approved, live).1;
        let requires = json!({"inputSchema": {"type": "object", "properties": {"a": {}}, "required": ["a"]}});
        assert_eq!(of(json!({}), requires), ["`inputSchema`: it requires `a` now"]);
        assert_eq!(of(json!({}), json!({"outputSchema": {"type": "object"}})), ["`outputSchema` changed"]);
        let task = json!({"execution": {"taskSupport": "required"}});
        assert_eq!(of(json!({}), task), ["`execution.taskSupport` changed"]);
    }

    #[test]
    fn an_annotation_that_promises_less_breaks_and_one_that_promises_more_does_not() {
        let with = |annotations: Value| json!({"annotations": annotations});
        let of = |before, now| compared(with(before), with(now)).1;
        assert_eq!(
            of(json!({"readOnlyHint": true}), json!({"readOnlyHint": false})),
            ["`annotations.readOnlyHint` was true and is false now"]
        );
        assert_eq!(
            of(json!({"destructiveHint": false}), json!({})),
            ["`annotations.destructiveHint` was false and is true now"],
            "an absent hint has the specification's default"
        );
        assert_eq!(of(json!({"readOnlyHint": false}), json!({"readOnlyHint": true})), [""; 0]);
        assert_eq!(of(json!({"openWorldHint": true}), json!({"title": "x"})), [""; 0]);
    }

    #[test]
    fn a_prompt_breaks_with_its_arguments() {
        let prompt = |arguments: Value| json!({"name": "p", "arguments": arguments});
        let of = |before, now| compare(ItemKind::Prompt, &prompt(before), &prompt(now), &IgnoredText::default());
        let broken = of(json!([{"name": "a"}, {"name": "b"}]), json!([{"name": "a", "required": true}, {"name": "c"}]));
        assert_eq!(broken.broken, ["`arguments`: `b` is gone", "`arguments`: `a` is required now"]);
        let wider = of(json!([{"name": "a", "required": true}]), json!([{"name": "a"}, {"name": "c"}]));
        assert_eq!((wider.changed.len(), wider.broken.len()), (1, 0));
    }
}
