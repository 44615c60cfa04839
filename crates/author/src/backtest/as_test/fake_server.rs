//! A server of the recording as `testing.backend(...)`, whose items return the recorded answers.

use serde_json::{Value, json};

use super::literal;
use crate::backtest::recording::{CallLine, OfferedServer, ServerCallLine};
use proxy_json::{Raw, Schema};
use proxy_model::{ItemKind, UriTemplate};

/// The members of a definition that the functions of a test have an argument for.
const ARGUMENTS: [(&str, &str); 9] = [
    ("name", "name"),
    ("title", "title"),
    ("description", "description"),
    ("inputSchema", "parameters"),
    ("outputSchema", "output_schema"),
    ("annotations", "annotations"),
    ("arguments", "arguments"),
    ("mimeType", "mime_type"),
    ("_meta", "meta"),
];

/// The tools of a server that took arguments which their schemas do not allow. The proxy forwards such calls, but a server of
/// a test refuses them, so these tools are written without a schema.
pub(super) fn lenient_tools(server: &OfferedServer, call: &CallLine) -> Vec<String> {
    let definitions = server.offer.list(ItemKind::Tool).iter().filter_map(|item| serde_json::from_str(item.get()).ok());
    let lenient = definitions.filter_map(|definition: Value| {
        let name = definition["name"].as_str()?;
        is_lenient(&definition, &answers(ItemKind::Tool, name, server, call)).then(|| name.to_owned())
    });
    lenient.collect()
}

fn is_lenient(definition: &Value, calls: &[&ServerCallLine]) -> bool {
    let Some(schema) = definition.get("inputSchema") else { return false };
    let Ok(schema) = Schema::compile(schema) else { return !calls.is_empty() };
    calls.iter().any(|call| schema.check(&arguments(call)).is_err())
}

fn arguments(call: &ServerCallLine) -> Value {
    parsed(&call.params).get("arguments").cloned().unwrap_or_else(|| json!({}))
}

/// An expression; `indent` is that of the line on which it starts.
pub(super) fn expression(server: &OfferedServer, call: &CallLine, indent: usize) -> String {
    let margin = " ".repeat(indent + 4);
    let mut text = String::from("testing.backend(\n");
    let kinds: [(&str, &[ItemKind]); 3] = [
        ("tools", &[ItemKind::Tool]),
        ("resources", &[ItemKind::Resource, ItemKind::ResourceTemplate]),
        ("prompts", &[ItemKind::Prompt]),
    ];
    for (argument, kinds) in kinds {
        let definitions = kinds.iter().flat_map(|kind| server.offer.list(*kind).iter().map(|item| (*kind, item)));
        let items: String = definitions
            .map(|(kind, definition)| format!("{margin}    {},\n", item(kind, definition, server, call, indent + 8)))
            .collect();
        if !items.is_empty() {
            text.push_str(&format!("{margin}{argument} = [\n{items}{margin}],\n"));
        }
    }
    for (argument, value) in [("instructions", &server.offer.info.instructions), ("error", &server.error)] {
        if !value.is_empty() {
            text.push_str(&format!("{margin}{argument} = {},\n", literal::string(value)));
        }
    }
    if text.ends_with("(\n") {
        return "testing.backend()".to_owned();
    }
    text.push_str(&format!("{})", " ".repeat(indent)));
    text
}

fn item(kind: ItemKind, definition: &Raw, server: &OfferedServer, call: &CallLine, indent: usize) -> String {
    let definition: Value = serde_json::from_str(definition.get()).unwrap_or_default();
    let key = definition[kind.key_member()].as_str().unwrap_or_default();
    let (function, takes): (_, &[&str]) = match kind {
        ItemKind::Tool => ("tool", &["title", "description", "inputSchema", "outputSchema", "annotations", "_meta"]),
        ItemKind::Resource | ItemKind::ResourceTemplate => ("resource", &["name", "description", "mimeType"]),
        ItemKind::Prompt => ("prompt", &["description", "arguments"]),
    };
    let margin = " ".repeat(indent + 4);
    let mut lines = vec![literal::string(key)];
    let calls = answers(kind, key, server, call);
    let left_out = if kind == ItemKind::Tool && is_lenient(&definition, &calls) { "inputSchema" } else { "" };
    for (member, argument) in ARGUMENTS.iter().filter(|(member, _)| takes.contains(member) && *member != left_out) {
        if let Some(value) = definition.get(*member).filter(|value| !value.is_null()) {
            lines.push(format!("{argument} = {}", literal::value(value, indent + 4)));
        }
    }
    lines.extend(reply(kind, &calls, indent + 4));
    let lines: String = lines.iter().map(|line| format!("{margin}{line},\n")).collect();
    format!("testing.{function}(\n{lines}{})", " ".repeat(indent))
}

/// The recorded calls of an item.
fn answers<'a>(kind: ItemKind, key: &str, server: &OfferedServer, call: &'a CallLine) -> Vec<&'a ServerCallLine> {
    let is_of_item = |called: &&ServerCallLine| {
        called.server == server.name
            && called.item().is_some_and(|(used_kind, used)| match kind {
                ItemKind::ResourceTemplate => {
                    let template = UriTemplate::parse(key);
                    used_kind == ItemKind::Resource
                        && template.is_some_and(|template| template.variables(&used).is_some())
                }
                kind => kind == used_kind && key == used,
            })
    };
    call.server_calls.iter().filter(is_of_item).collect()
}

/// The argument `returns` or `fails` of an item with these recorded calls.
fn reply(kind: ItemKind, calls: &[&ServerCallLine], indent: usize) -> Option<String> {
    match calls {
        [] => None,
        [call] => Some(match &call.result {
            Some(result) => format!("returns = {}", literal::value(&parsed(result), indent)),
            None => format!("fails = {}", literal::string(call.outcome.message().unwrap_or("it failed"))),
        }),
        calls => {
            let pairs = calls.iter().map(|call| {
                let sent = match kind {
                    ItemKind::Tool | ItemKind::Prompt => arguments(call),
                    ItemKind::Resource | ItemKind::ResourceTemplate => json!({"uri": parsed(&call.params)["uri"]}),
                };
                let answer = call.result.as_ref().map_or_else(|| failure(call), parsed);
                let margin = " ".repeat(indent + 4);
                let (sent, answer) = (literal::value(&sent, indent + 4), literal::value(&answer, indent + 4));
                format!("{margin}({sent}, {answer}),\n")
            });
            let pairs: String = pairs.collect();
            let margin = " ".repeat(indent);
            Some(format!("returns = lambda args: [answer for sent, answer in [\n{pairs}{margin}] if sent == args][0]"))
        }
    }
}

fn failure(call: &ServerCallLine) -> Value {
    let text = call.outcome.message().unwrap_or("it failed");
    json!({"isError": true, "content": [{"type": "text", "text": text}]})
}

fn parsed(raw: &Raw) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}
