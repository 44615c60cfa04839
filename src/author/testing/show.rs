//! Values as a failing assertion shows them: short ones in the sentence, long ones line by line.

use similar::{ChangeTag, TextDiff};
use starlark::values::Value;
use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::structs::StructRef;
use starlark::values::tuple::TupleRef;

/// Longer ones are shown line by line.
const SHORT: usize = 72;
/// A sentence holds no more than this.
const LONGEST: usize = 400;
const DEEPEST: usize = 64;
/// A longer difference helps nobody.
const MOST_LINES: usize = 80;
/// Equal lines around what differs.
const AROUND: usize = 3;

/// In one line.
pub(super) fn shown(value: Value<'_>) -> String {
    let text = value.to_repr();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain("...".chars()).collect()
}

/// What differs, line by line; none if both values fit into a sentence.
pub(super) fn difference(value: Value<'_>, expected: Value<'_>) -> Option<String> {
    let (mut got, mut wanted) = (lines(value), lines(expected));
    if got == wanted {
        // Printed alike and still not equal: an odd value that knows more of itself.
        (got, wanted) = (value.to_repr(), expected.to_repr());
    }
    let short = |text: &str| !text.contains('\n') && text.chars().count() <= SHORT;
    if short(&got) && short(&wanted) {
        return None;
    }
    let diff = TextDiff::from_lines(&wanted, &got);
    let mut told = vec!["`-` expected, `+` got".to_owned()];
    for (number, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if number > 0 {
            told.push("  ...".to_owned());
        }
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let mark = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            told.push(format!("{mark} {}", change.value().trim_end_matches('\n')));
        }
    }
    if told.len() > MOST_LINES {
        let left = told.len() - MOST_LINES;
        told.truncate(MOST_LINES);
        told.push(format!("  ... and {left} more lines"));
    }
    Some(told.join("\n"))
}

/// A text by its own lines, everything else with one item a line where it does not fit into one.
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
    if items.is_empty() || depth > DEEPEST || whole.chars().count() + depth * 2 <= SHORT {
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
