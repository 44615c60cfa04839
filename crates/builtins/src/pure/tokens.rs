//! `count_tokens()`: estimates how many tokens a value costs a model.

use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::{Heap, Value, ValueLike};

use crate::metadata::Metadata;
use proxy_script::convert;
use proxy_search::estimate_tokens;

#[starlark_module]
pub fn register_tokens(builder: &mut GlobalsBuilder) {
    /// Estimates how many tokens a value costs a model. Counts a string's text, a `metadata` value's whole definition,
    /// and the JSON of anything else. Every model counts differently; the estimate is the same for all models, so sums
    /// and ratios are comparable.
    fn count_tokens<'v>(value: Value<'v>, heap: Heap<'v>) -> starlark::Result<i32> {
        let count = match (value.downcast_ref::<Metadata>(), value.unpack_str()) {
            (Some(metadata), _) => estimate_tokens(metadata.definition.raw().get()),
            (None, Some(text)) => estimate_tokens(text),
            (None, None) => estimate_tokens(&convert::to_json(value, heap)?.to_string()),
        };
        Ok(i32::try_from(count).unwrap_or(i32::MAX))
    }
}
