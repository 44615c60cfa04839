//! Formats values for failed assertions: short values inline, long values as a line diff.

use similar::{ChangeTag, TextDiff};
use starlark::values::Value;
use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::structs::StructRef;
use starlark::values::tuple::TupleRef;

/// Values up to this length are shown inline.
const MAX_INLINE: usize = 72;
/// Longer values are cut off in a message.
const MAX_SHOWN: usize = 400;
const MAX_DEPTH: usize = 64;
/// Longer diffs are cut off.
const MAX_LINES: usize = 80;
/// Unchanged lines around each change.
const CONTEXT_LINES: usize = 3;

/// The value on one line, cut off at [`MAX_SHOWN`] characters.
pub(crate) fn shown(value: Value<'_>) -> String {
    let text = value.to_repr();
    if text.chars().count() <= MAX_SHOWN {
        return text;
    }
    text.chars().take(MAX_SHOWN).chain("...".chars()).collect()
}

/// A line diff; None if both values are short enough to be shown inline.
pub(crate) fn difference(value: Value<'_>, expected: Value<'_>) -> Option<String> {
    let (mut actual_text, mut expected_text) = (lines(value), lines(expected));
    if actual_text == expected_text {
        // Values of some types are formatted alike without being equal; their `repr` may differ.
        (actual_text, expected_text) = (value.to_repr(), expected.to_repr());
    }
    let inline = |text: &str| !text.contains('\n') && text.chars().count() <= MAX_INLINE;
    if inline(&actual_text) && inline(&expected_text) {
        return None;
    }
    let diff = TextDiff::from_lines(&expected_text, &actual_text);
    let mut output = vec!["`-` expected, `+` got".to_owned()];
    for (number, group) in diff.grouped_ops(CONTEXT_LINES).iter().enumerate() {
        if number > 0 {
            output.push("  ...".to_owned());
        }
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let mark = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            output.push(format!("{mark} {}", change.value().trim_end_matches('\n')));
        }
    }
    if output.len() > MAX_LINES {
        let left = output.len() - MAX_LINES;
        output.truncate(MAX_LINES);
        output.push(format!("  ... and {left} more lines"));
    }
    Some(output.join("\n"))
}

/// A multi-line string as it is; any other value with one item per line unless it fits on one.
fn lines(value: Value<'_>) -> String {
    match value.unpack_str() {
        Some(text) if text.contains('\n') => text.to_owned(),
        _ => {
            let mut text = String::new();
            write(value, 0, &mut text);
            text
        }
    }
}

fn write(value: Value<'_>, depth: usize, text: &mut String) {
    let items: Vec<(Option<String>, Value<'_>)> = if let Some(dict) = DictRef::from_value(value) {
        dict.iter().map(|(key, item)| (Some(format!("{}: ", key.to_repr())), item)).collect()
    } else if let Some(list) = ListRef::from_value(value) {
        list.iter().map(|item| (None, item)).collect()
    } else if let Some(tuple) = TupleRef::from_value(value) {
        tuple.iter().map(|item| (None, item)).collect()
    } else if let Some(fields) = StructRef::from_value(value) {
        fields.iter().map(|(key, item)| (Some(format!("{} = ", key.as_str())), item)).collect()
    } else {
        return text.push_str(&value.to_repr());
    };
    let whole = value.to_repr();
    if items.is_empty() || depth > MAX_DEPTH || whole.chars().count() + depth * 2 <= MAX_INLINE {
        return text.push_str(&whole);
    }
    let (open, close) = match value.get_type() {
        "dict" => ("{", "}"),
        "list" => ("[", "]"),
        "tuple" => ("(", ")"),
        _ => ("struct(", ")"),
    };
    text.push_str(open);
    text.push('\n');
    for (label, item) in items {
        text.push_str(&"  ".repeat(depth + 1));
        text.push_str(&label.unwrap_or_default());
        write(item, depth + 1, text);
        text.push_str(",\n");
    }
    text.push_str(&"  ".repeat(depth));
    text.push_str(close);
}
