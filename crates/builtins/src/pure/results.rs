//! Results of tools: `error()`, `fail()` and `unwrap()`.

use serde_json::json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::none::{NoneOr, NoneType};
use starlark::values::{Heap, Value};

use proxy_model::payload;
use proxy_script::{Failed, convert, script_error};

#[starlark_module]
pub fn register_results(builder: &mut GlobalsBuilder) {
    /// Returns an error result for a handler to return: `return error("no such table")`.
    fn error<'v>(text: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let result = json!({"content": [{"type": "text", "text": text.to_str()}], "isError": true});
        Ok(convert::to_starlark(&result, heap)?)
    }

    /// Stops with an error: at the top level the whole script, in a handler the current call. The client receives `text`,
    /// and `data` where the protocol has a field for it.
    fn fail<'v>(
        text: Value<'v>,
        #[starlark(default = NoneOr::None)] data: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let data = data.into_option().map(|data| convert::to_json(data, eval.heap())).transpose()?;
        Err(Failed { text: text.to_str(), data }.into())
    }

    /// Returns a tool result's payload: its `structuredContent` (a lone `{"result": v}` gives `v`), else its text
    /// decoded as JSON, else its text. Raises an error if the result is an error result.
    fn unwrap<'v>(result: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let members = convert::to_object(result, heap)?.ok_or_else(|| {
            script_error(format!("unwrap() takes a tool result, a dict, not a `{}`", result.get_type()))
        })?;
        Ok(convert::to_starlark(&payload(members).map_err(script_error)?, heap)?)
    }
}
