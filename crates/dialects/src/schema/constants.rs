//! `const`: becomes an `enum` of one value.

use serde_json::{Value, json};

use super::walk::walk;
use crate::change::{Changes, Path};

pub(crate) fn constants_to_enums(schema: &mut Value, changes: &mut Changes) {
    walk(schema, &Path::ROOT, &mut |schema, at| {
        let Value::Object(members) = schema else { return };
        let Some(value) = members.shift_remove("const") else { return };
        let is_allowed = match members.get("enum") {
            Some(Value::Array(values)) => values.contains(&value),
            _ => true,
        };
        if is_allowed {
            changes.note(at, || "`const` becomes `enum`".to_owned());
            members.insert("enum".to_owned(), json!([value]));
        } else {
            // Nothing matches both.
            changes.take(members, at, &format!("const: {value}"));
        }
    });
}
