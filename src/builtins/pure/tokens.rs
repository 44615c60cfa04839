//! `count_tokens()`: what a text costs a model.

use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::{Heap, Value, ValueLike};

use crate::builtins::metadata::Metadata;
use crate::script::convert;
use crate::search::estimate_tokens;

#[starlark_module]
pub fn register_tokens(builder: &mut GlobalsBuilder) {
    /// About how many tokens a value costs a model: of text its own, of a metadata its whole definition, of anything
    /// else its JSON. An estimate, since every model counts otherwise; the same everywhere, so that sums and shares can
    /// be compared.
    fn count_tokens<'v>(value: Value<'v>, heap: Heap<'v>) -> starlark::Result<i32> {
        let count = match (value.downcast_ref::<Metadata>(), value.unpack_str()) {
            (Some(metadata), _) => estimate_tokens(metadata.definition.raw().get()),
            (None, Some(text)) => estimate_tokens(text),
            (None, None) => estimate_tokens(&convert::to_json(value, heap)?.to_string()),
        };
        Ok(i32::try_from(count).unwrap_or(i32::MAX))
    }
}
