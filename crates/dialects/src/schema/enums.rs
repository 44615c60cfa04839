//! `enums`: drops an `enum` of other values than texts.

use serde_json::Value;

use super::walk::walk;
use crate::change::{Changes, Path};

pub(crate) fn drop_enums(schema: &mut Value, changes: &mut Changes) {
    walk(schema, &Path::ROOT, &mut |schema, at| {
        let Value::Object(members) = schema else { return };
        let Some(Value::Array(values)) = members.get("enum") else { return };
        if !values.is_empty() && values.iter().all(Value::is_string) {
            return;
        }
        let texts: Vec<Value> = values.iter().filter(|value| value.is_string()).cloned().collect();
        let is_nullable = values.iter().all(|value| value.is_string() || value.is_null());
        if is_nullable && !texts.is_empty() {
            changes.note(at, || "without `null`".to_owned());
            members.insert("enum".to_owned(), texts.into());
            return;
        }
        let listed: Vec<String> = values.iter().take(20).map(ToString::to_string).collect();
        let told = format!("one of {}", listed.join(", "));
        members.shift_remove("enum");
        changes.take(members, at, &told);
    });
}
