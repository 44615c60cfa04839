//! Several config files as one. Maps are merged key by key, and everything else is replaced.

use super::tree::{Node, NodeKey, Value};

/// The keys of `sessionInit` of which only one can be set. The choice of a later file replaces the earlier one.
const SCRIPT_CHOICES: [&str; 3] = ["preset", "script", "scriptFile"];

/// Merges a later file into an earlier one. Keys keep the order of their first appearance. A section without content counts
/// as absent, because its content may be commented out; within a section, a key without a value removes the earlier value.
pub(super) fn merge(earlier: Node, later: Node) -> Node {
    match (earlier.value, later.value) {
        (Value::Map(mut sections), Value::Map(later_sections)) => {
            for (key, later) in later_sections {
                if later.value == Value::Null && position(&sections, &key).is_some() {
                    continue;
                }
                match position(&sections, &key) {
                    Some(at) if key.text == "sessionInit" => merge_at(&mut sections, at, key, later, choose_script),
                    Some(at) => merge_at(&mut sections, at, key, later, merge_values),
                    None => sections.push((key, later)),
                }
            }
            Node { value: Value::Map(sections), span: earlier.span }
        }
        (earlier_value, Value::Null) => Node { value: earlier_value, span: earlier.span },
        (_, later_value) => Node { value: later_value, span: later.span },
    }
}

fn position(entries: &[(NodeKey, Node)], key: &NodeKey) -> Option<usize> {
    entries.iter().position(|(known, _)| known.text == key.text)
}

/// Merges one entry. Diagnostics about it point to the last file that sets it.
fn merge_at(
    entries: &mut [(NodeKey, Node)],
    at: usize,
    key: NodeKey,
    later: Node,
    merge: impl FnOnce(Node, Node) -> Node,
) {
    let entry = &mut entries[at];
    let earlier = std::mem::replace(&mut entry.1, Node { value: Value::Null, span: 0..0 });
    *entry = (key, merge(earlier, later));
}

fn merge_values(earlier: Node, later: Node) -> Node {
    match (earlier.value, later.value) {
        (Value::Map(mut entries), Value::Map(later_entries)) => {
            for (key, later) in later_entries {
                match position(&entries, &key) {
                    Some(at) if later.value == Value::Null => drop(entries.remove(at)),
                    Some(at) => merge_at(&mut entries, at, key, later, merge_values),
                    None => entries.push((key, later)),
                }
            }
            Node { value: Value::Map(entries), span: later.span }
        }
        (_, later_value) => Node { value: later_value, span: later.span },
    }
}

fn choose_script(mut earlier: Node, later: Node) -> Node {
    if let Value::Map(entries) = &mut earlier.value
        && SCRIPT_CHOICES.iter().any(|choice| later.get(choice).is_some())
    {
        entries.retain(|(key, _)| !SCRIPT_CHOICES.contains(&key.text.as_str()));
    }
    merge_values(earlier, later)
}
