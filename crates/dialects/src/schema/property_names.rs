//! `property-names`: top-level properties whose names the client's provider refuses get others.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::references::decoded;
use crate::change::{Changes, Path};
use crate::names::short;

/// The length of a name.
const MAX_NAME: usize = 64;
/// Keywords that name properties in ways that are not followed.
const ABOUT_NAMES: [&str; 12] = [
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
];

/// Renames properties. Returns the new names, each with the published one.
///
/// # Errors
/// Why the tool cannot be listed: a new name is not unique.
pub(crate) fn rename_properties(schema: &mut Value, changes: &mut Changes) -> Result<Vec<(String, String)>, String> {
    let Some(members) = schema.as_object_mut() else { return Ok(Vec::new()) };
    let Some(Value::Object(properties)) = members.get("properties") else { return Ok(Vec::new()) };
    let renamed: Vec<(String, String)> = properties
        .keys()
        .filter(|name| !is_accepted(name))
        .map(|name| (short(name, MAX_NAME, &Value::from(name.as_str())), name.clone()))
        .collect();
    if renamed.is_empty() {
        return Ok(renamed);
    }
    let mut taken: HashSet<&str> = properties.keys().map(String::as_str).collect();
    if let Some((new, old)) = renamed.iter().find(|(new, _)| !taken.insert(new)) {
        return Err(format!("its properties `{old}` and another are both named `{new}`"));
    }
    let new_names: NewNames<'_> = renamed.iter().map(|(new, old)| (old.as_str(), new.as_str())).collect();
    let new_name = |name: &str| new_names.get(name).map(|new| (*new).to_owned());
    // Whoever sends the published name of a property gets past its schema.
    changes.takes_constraint = true;
    let root = Path::ROOT;
    let at = root.name("properties");
    for (new, old) in &renamed {
        changes.note(&at.name(old), || format!("named `{new}`"));
    }
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        let old = std::mem::take(properties);
        properties.extend(old.into_iter().map(|(name, value)| (new_name(&name).unwrap_or(name), value)));
    }
    if let Some(Value::Array(required)) = members.get_mut("required") {
        for name in required {
            if let Some(new) = name.as_str().and_then(new_name) {
                *name = new.into();
            }
        }
    }
    for keyword in ABOUT_NAMES {
        if let Some(value) = members.shift_remove(keyword) {
            changes.take(members, &Path::ROOT, &format!("{keyword}: {value}"));
        }
    }
    follow(members, &new_names);
    Ok(renamed)
}

fn is_accepted(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(is_plain)
}

/// The names in the client's list, by the published ones.
type NewNames<'a> = HashMap<&'a str, &'a str>;

/// Points references at the renamed properties.
fn follow(members: &mut Map<String, Value>, renamed: &NewNames<'_>) {
    for value in members.values_mut() {
        follow_in(value, renamed);
    }
}

fn follow_in(value: &mut Value, renamed: &NewNames<'_>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && let Some(rest) = reference.strip_prefix("#/properties/")
            {
                let (first, rest) = rest.split_once('/').map_or((rest, None), |(first, rest)| (first, Some(rest)));
                let name = decoded(first).replace("~1", "/").replace("~0", "~");
                if let Some(new) = renamed.get(name.as_str()) {
                    let rest = rest.map(|rest| format!("/{rest}")).unwrap_or_default();
                    *reference = format!("#/properties/{new}{rest}");
                }
            }
            follow(members, renamed);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| follow_in(item, renamed)),
        _ => {}
    }
}
