//! `keywords`: drops what the client's provider refuses.

use serde_json::{Map, Value};

use super::walk::walk;
use crate::change::{Changes, Path};

/// Keywords that allow nothing and forbid nothing.
const SILENT: [&str; 6] = ["$schema", "$id", "$comment", "$anchor", "$dynamicAnchor", "$vocabulary"];
/// Keywords that forbid something.
const CONSTRAINTS: [&str; 8] = [
    "propertyNames",
    "not",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedItems",
    "unevaluatedProperties",
    "patternProperties",
];
/// The bounds that are not allowed themselves, each with the keyword for one that is, and the way to the next whole number.
const EXCLUSIVE_BOUNDS: [(&str, &str, i64); 2] =
    [("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)];
/// The formats that are understood.
const FORMATS: [&str; 7] = ["enum", "date-time", "float", "double", "int32", "int64", "byte"];

pub(crate) fn drop_keywords(schema: &mut Value, changes: &mut Changes) {
    walk(schema, &Path::ROOT, &mut |schema, at| {
        let Value::Object(members) = schema else { return };
        for keyword in SILENT {
            if members.shift_remove(keyword).is_some() {
                changes.note(at, || format!("without `{keyword}`"));
            }
        }
        if members.contains_key("patternProperties") && members.contains_key("additionalProperties") {
            // It is about those that no pattern matches.
            drop_constraint(members, "additionalProperties", at, changes);
        }
        for keyword in CONSTRAINTS {
            drop_constraint(members, keyword, at, changes);
        }
        drop_condition(members, at, changes);
        for (exclusive, inclusive, next) in EXCLUSIVE_BOUNDS {
            include_bound(members, exclusive, inclusive, next, at, changes);
        }
        let is_known = |format: &Value| format.as_str().is_some_and(|format| FORMATS.contains(&format));
        if members.get("format").is_some_and(|format| !is_known(format)) {
            drop_constraint(members, "format", at, changes);
        }
    });
}

fn drop_constraint(members: &mut Map<String, Value>, keyword: &str, at: &Path<'_>, changes: &mut Changes) {
    if let Some(value) = members.shift_remove(keyword) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        changes.take(members, at, &format!("{keyword}: {value}"));
    }
}

/// Whole numbers above 0 are those from 1 on. Of other numbers, the bound is told.
fn include_bound(
    members: &mut Map<String, Value>,
    exclusive: &str,
    inclusive: &str,
    next: i64,
    at: &Path<'_>,
    changes: &mut Changes,
) {
    let Some(bound) = included(members, exclusive, inclusive, next) else {
        return drop_constraint(members, exclusive, at, changes);
    };
    members.shift_remove(exclusive);
    members.insert(inclusive.to_owned(), bound.into());
    changes.note(at, || format!("`{exclusive}` becomes `{inclusive}`"));
}

/// The bound that says the same and is allowed itself; `None` if there is none, or another one beside it.
fn included(members: &Map<String, Value>, exclusive: &str, inclusive: &str, next: i64) -> Option<i64> {
    if members.get("type")? != "integer" || members.contains_key(inclusive) {
        return None;
    }
    members.get(exclusive)?.as_i64()?.checked_add(next)
}

/// `then` and `else` mean nothing without `if`.
fn drop_condition(members: &mut Map<String, Value>, at: &Path<'_>, changes: &mut Changes) {
    let condition = members.shift_remove("if");
    let then = members.shift_remove("then");
    let otherwise = members.shift_remove("else");
    if let Some(condition) = condition {
        let told = match (then, otherwise) {
            (Some(then), _) => format!("if {condition} then {then}"),
            (None, Some(otherwise)) => format!("if not {condition} then {otherwise}"),
            (None, None) => {
                changes.note(at, || "without `if`".to_owned());
                return;
            }
        };
        changes.take(members, at, &told);
    } else if then.is_some() || otherwise.is_some() {
        changes.note(at, || "without `then` and `else`".to_owned());
    }
}
