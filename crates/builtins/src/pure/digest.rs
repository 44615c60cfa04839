//! `digest()`: SHA-256 of values.

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::{Heap, Value, ValueLike};

use crate::metadata::Metadata;
use proxy_script::{convert, script_error};

#[starlark_module]
pub fn register_digest(builder: &mut GlobalsBuilder) {
    /// Returns the SHA-256 of a value's canonical JSON, in hexadecimal. Equal values have equal digests, regardless of
    /// key order. For a `metadata` value, the digest covers the definition as the backend sent it, so a script can pin
    /// it.
    fn digest<'v>(value: Value<'v>, heap: Heap<'v>) -> starlark::Result<String> {
        let json: Json = match value.downcast_ref::<Metadata>() {
            Some(metadata) => serde_json::from_str(metadata.original.raw().get())
                .map_err(|error| script_error(format!("the definition is not valid JSON: {error}")))?,
            None => convert::to_json(value, heap)?,
        };
        Ok(proxy_json::digest(&json))
    }
}
