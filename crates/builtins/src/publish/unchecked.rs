//! `unchecked()`: a handler that checks its arguments itself.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;

use crate::effects::wrapper::Wrapper;
use proxy_script::ScriptError;

#[starlark_module]
pub fn register_unchecked(builder: &mut GlobalsBuilder) {
    /// Wraps a tool handler so that it receives the client's arguments even if they do not match the tool's
    /// `parameters`. The handler can then accept input that is nearly right, and explain what is wrong with the rest.
    ///
    /// ```python
    /// def greet(args):
    ///     return "Hello " + str(args.get("who") or args.get("name") or "you")
    ///
    /// schema = {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}
    /// publish(metadata("greet", "Greets somebody", schema, {}), unchecked(greet))
    /// ```
    fn unchecked<'v>(
        #[starlark(require = pos)] handler: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        if handler.get_type() != "function" {
            let actual = handler.get_type();
            let error = ScriptError::new(format!("the argument of unchecked() must be a function, not a `{actual}`"));
            return Err(error.hint("`publish(meta, unchecked(handler))`").into());
        }
        Ok(eval.heap().alloc(Wrapper::unchecked(handler)))
    }
}
