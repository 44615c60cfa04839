//! The Starlark module `json`.

use serde::Serialize;
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::{Heap, Value};

use proxy_script::{convert, script_error};

pub(crate) fn register_json(builder: &mut GlobalsBuilder) {
    builder.namespace("json", members);
}

/// Conversion between JSON text and Starlark values. Integers of any size and the order of keys are preserved.
#[starlark_module]
fn members(builder: &mut GlobalsBuilder) {
    /// Encodes a value as JSON on one line.
    fn encode<'v>(value: Value<'v>, heap: Heap<'v>) -> starlark::Result<String> {
        Ok(convert::to_json(value, heap)?.to_string())
    }

    /// Encodes a value as indented JSON on several lines. `prefix` starts every line but the first.
    fn encode_indent<'v>(
        value: Value<'v>,
        #[starlark(default = "")] prefix: &str,
        #[starlark(default = "\t")] indent: &str,
        heap: Heap<'v>,
    ) -> starlark::Result<String> {
        let json = convert::to_json(value, heap)?;
        let mut out = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
        json.serialize(&mut serializer).map_err(|error| script_error(error.to_string()))?;
        // JSON escapes line breaks inside strings, so every raw one starts a new line.
        Ok(String::from_utf8_lossy(&out).replace('\n', &format!("\n{prefix}")))
    }

    /// Decodes JSON text. If the JSON is invalid, returns `default` if given, and otherwise raises an error.
    fn decode<'v>(text: &str, default: Option<Value<'v>>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        match (convert::text_to_starlark(text, heap), default) {
            (Ok(value), _) => Ok(value),
            (Err(_), Some(default)) => Ok(default),
            (Err(error), None) => Err(error.into()),
        }
    }
}
