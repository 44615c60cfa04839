//! `attempt()`: calls a function and returns its error as a value. Starlark has no exceptions.

use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::structs::AllocStruct;
use starlark::values::tuple::UnpackTuple;

use proxy_script::{Context, error_message};

#[starlark_module]
pub fn register_attempt(builder: &mut GlobalsBuilder) {
    /// Calls a function with the remaining arguments and catches errors. Returns a struct with `ok`, `value` (None
    /// after an error) and `error` (`""` on success). Cancellation and exceeded limits cannot be caught.
    ///
    /// ```python
    /// answer = attempt(json.decode, text)
    /// if not answer.ok:
    ///     return error("not JSON: " + answer.error)
    /// ```
    fn attempt<'v>(
        #[starlark(require = pos)] callable: Value<'v>,
        #[starlark(args)] arguments: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] named: SmallMap<String, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let context = Context::of(eval)?;
        let named: Vec<(&str, Value<'v>)> = named.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let (ok, value, error) = match context.invoke(eval, callable, &arguments.items, &named) {
            Ok(value) => (true, value, String::new()),
            Err(error) if context.is_final(&error) => return Err(error),
            Err(error) => (false, Value::new_none(), error_message(&error)),
        };
        let heap = eval.heap();
        Ok(heap.alloc(AllocStruct([("ok", Value::new_bool(ok)), ("value", value), ("error", heap.alloc(error))])))
    }
}
