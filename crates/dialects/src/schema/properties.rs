//! `properties`: every object names its properties, even if it has none.

use serde_json::{Value, json};

use super::walk::walk;
use crate::change::{Changes, Path};

pub(crate) fn complete_properties(schema: &mut Value, changes: &mut Changes) {
    walk(schema, &Path::ROOT, &mut |schema, at| {
        let Value::Object(members) = schema else { return };
        let is_object = at.is_root() || members.get("type").is_some_and(|name| name == "object");
        if is_object && !members.get("properties").is_some_and(Value::is_object) {
            changes.note(at, || "`properties` added".to_owned());
            members.insert("properties".to_owned(), json!({}));
        }
    });
}
