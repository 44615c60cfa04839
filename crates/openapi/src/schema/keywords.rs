//! Keywords whose value is not a schema. What is not valid in JSON Schema 2020-12 is left out: a single wrong keyword would make
//! the schema of the whole tool unusable.

use std::collections::HashSet;

use crate::document::Node;

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// How the value of a keyword is copied.
pub(super) enum Copied {
    /// As it is, if it is valid.
    If(fn(&Node) -> bool),
    /// It is not copied, or is handled apart.
    No,
}

pub(super) fn copied(keyword: &str) -> Copied {
    match keyword {
        "format" | "contentEncoding" | "contentMediaType" => Copied::If(|node| node.text().is_some()),
        "default" | "const" => Copied::If(|_| true),
        "uniqueItems" | "deprecated" => Copied::If(|node| matches!(node, Node::Bool(_))),
        "exclusiveMinimum" | "exclusiveMaximum" => Copied::If(is_number),
        "multipleOf" => Copied::If(is_positive),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
        | "maxContains" => Copied::If(is_count),
        "dependentRequired" => Copied::If(are_name_lists),
        _ => Copied::No,
    }
}

fn is_number(node: &Node) -> bool {
    matches!(node, Node::Number(_))
}

fn is_positive(node: &Node) -> bool {
    matches!(node, Node::Number(text) if text.parse::<f64>().is_ok_and(|number| number > 0.0))
}

fn is_count(node: &Node) -> bool {
    matches!(node, Node::Number(text) if text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn are_name_lists(node: &Node) -> bool {
    node.map().is_some_and(|map| map.iter().all(|(_, names)| is_name_list(names)))
}

fn is_name_list(node: &Node) -> bool {
    let Some(names) = node.list() else { return false };
    let mut seen = HashSet::new();
    names.iter().all(|name| name.text().is_some_and(|name| seen.insert(name)))
}

/// The types that a schema names, without those that are none.
pub(super) fn types(node: &Node) -> Vec<&str> {
    let named: Vec<&str> = match node {
        Node::Text(name) => vec![name],
        Node::List(names) => names.iter().filter_map(Node::text).collect(),
        _ => Vec::new(),
    };
    let mut found = Vec::new();
    for name in named {
        // Files are text here, encoded with Base64.
        let name = if name == "file" { "string" } else { name };
        if TYPES.contains(&name) && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Appends the name of a member and its colon.
pub(crate) fn key(out: &mut String, name: &str) {
    separate(out);
    proxy_json::push_quoted(out, name);
    out.push(':');
}

/// Appends a comma unless this is the first of an object or a list.
pub(crate) fn separate(out: &mut String) {
    if !out.ends_with(['{', '[']) {
        out.push(',');
    }
}

/// At most this many bytes of a text, with an ellipsis if it is longer.
pub(crate) fn shortened(text: &str, max: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= max {
        return text.into();
    }
    let end = text.floor_char_boundary(max.saturating_sub('…'.len_utf8()));
    format!("{}…", text[..end].trim_end()).into()
}
