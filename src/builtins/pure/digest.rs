//! `digest()`: fingerprints.

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::{Heap, Value, ValueLike};

use crate::builtins::metadata::Metadata;
use crate::script::{convert, script_error};

#[starlark_module]
pub fn register_digest(builder: &mut GlobalsBuilder) {
    /// The SHA-256 of a value's canonical JSON, in hexadecimal: equal values have equal digests, whatever the order of
    /// their keys. Of a metadata: of the definition as the backend gave it, so that it can be pinned.
    fn digest<'v>(value: Value<'v>, heap: Heap<'v>) -> starlark::Result<String> {
        let json: Json = match value.downcast_ref::<Metadata>() {
            Some(metadata) => serde_json::from_str(metadata.original.raw().get())
                .map_err(|error| script_error(format!("the definition is not JSON: {error}")))?,
            None => convert::to_json(value, heap)?,
        };
        Ok(crate::json::digest(&json))
    }
}
