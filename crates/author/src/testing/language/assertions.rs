//! Assertions: `testing.eq` and the others.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneType;

use super::diff::{difference, shown};
use proxy_script::{Context, ScriptError, error_message};

/// An error with the message of the assertion, if any, before what was found.
fn failed(message: &str, found: impl Into<String>) -> ScriptError {
    let found = found.into();
    ScriptError::new(if message.is_empty() { found } else { format!("{message}: {found}") })
}

fn expect(holds: bool, error: impl FnOnce() -> ScriptError) -> starlark::Result<NoneType> {
    if holds { Ok(NoneType) } else { Err(error().into()) }
}

#[starlark_module]
pub(super) fn register_assertions(builder: &mut GlobalsBuilder) {
    /// Fails unless the value equals the expected value, and shows a diff.
    ///
    /// ```python
    /// testing.eq(s.tool_names(), ["db_drop"])
    /// ```
    fn eq<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        #[starlark(require = pos)] expected: Value<'v>,
        #[starlark(default = "")] message: &str,
    ) -> starlark::Result<NoneType> {
        expect(value.equals(expected)?, || match difference(value, expected) {
            Some(difference) => failed(message, "the values differ").note(difference),
            None => failed(message, format!("expected {}, got {}", shown(expected), shown(value))),
        })
    }

    /// Fails if the two values are equal.
    fn ne<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        #[starlark(require = pos)] other: Value<'v>,
        #[starlark(default = "")] message: &str,
    ) -> starlark::Result<NoneType> {
        expect(!value.equals(other)?, || failed(message, format!("both values are {}", shown(value))))
    }

    /// Fails unless the value is truthy: not `False`, `None`, `0` or empty.
    fn is_true<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        #[starlark(default = "")] message: &str,
    ) -> starlark::Result<NoneType> {
        expect(value.to_bool(), || failed(message, format!("expected a truthy value, got {}", shown(value))))
    }

    /// Fails if the value is truthy.
    fn is_false<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        #[starlark(default = "")] message: &str,
    ) -> starlark::Result<NoneType> {
        expect(!value.to_bool(), || failed(message, format!("expected a falsy value, got {}", shown(value))))
    }

    /// Fails unless `value` contains `part`: as a substring, list item or dict key.
    fn contains<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        #[starlark(require = pos)] part: Value<'v>,
        #[starlark(default = "")] message: &str,
    ) -> starlark::Result<NoneType> {
        expect(value.is_in(part)?, || failed(message, format!("{} is not in {}", shown(part), shown(value))))
    }

    /// Fails the test with this message.
    fn fail(#[starlark(default = "the test failed")] message: &str) -> starlark::Result<NoneType> {
        Err(ScriptError::new(message).into())
    }

    /// Calls the function without arguments. Fails unless it raises an error that contains `message`. Returns the error
    /// text.
    ///
    /// ```python
    /// testing.raises(lambda: parse("x"), "not a number")
    /// ```
    fn raises<'v>(
        #[starlark(require = pos)] function: Value<'v>,
        #[starlark(default = "")] message: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<String> {
        let context = Context::of(eval)?;
        match context.invoke(eval, function, &[], &[]) {
            Ok(value) => Err(ScriptError::new(format!("expected an error, got {}", shown(value))).into()),
            Err(error) if context.is_final(&error) => Err(error),
            Err(error) => {
                let text = error_message(&error);
                if text.contains(message) {
                    return Ok(text);
                }
                Err(ScriptError::new(format!("expected an error that contains {message:?}, got {text:?}")).into())
            }
        }
    }
}
