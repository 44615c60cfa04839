//! Trees of files as plain JSON values, to compare what two texts say.

use serde_json::{Map, Value as Json};

use crate::syntax::tree::{Node, Value};

pub(super) fn value(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Number(number) => serde_json::from_str(number).unwrap_or_else(|_| Json::String(number.clone())),
        Value::String(text) | Value::Block(text) => Json::String(text.clone()),
        Value::List(items) => items.iter().map(value).collect(),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|(key, node)| (key.text.clone(), value(node))).collect())
        }
    }
}

pub(super) fn at<'a>(root: &'a Json, path: &[&str]) -> Option<&'a Json> {
    path.iter().try_fold(root, |value, key| value.get(key))
}

/// Sets a value, with the maps above it.
pub(super) fn set(root: &mut Json, path: &[&str], value: Json) {
    let Some((key, rest)) = path.split_first() else {
        *root = value;
        return;
    };
    if !root.is_object() {
        *root = Json::Object(Map::new());
    }
    if let Some(members) = root.as_object_mut() {
        set(members.entry(*key).or_insert(Json::Null), rest, value);
    }
}

pub(super) fn remove(root: &mut Json, path: &[&str]) {
    let Some((last, above)) = path.split_last() else { return };
    let parent = above.iter().try_fold(root, |value, key| value.get_mut(key));
    if let Some(members) = parent.and_then(Json::as_object_mut) {
        members.shift_remove(*last);
    }
}

/// Removes the maps that lead to an entry if nothing is in them: in some forms they are there only because of it.
pub(super) fn prune(root: &mut Json, path: &[&str]) {
    for length in (1..path.len()).rev() {
        let is_empty = |value: &Json| value.as_object().is_some_and(Map::is_empty);
        if at(root, &path[..length]).is_some_and(is_empty) {
            remove(root, &path[..length]);
        }
    }
    if root.is_null() {
        *root = Json::Object(Map::new());
    }
}
