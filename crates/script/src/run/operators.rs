//! The operators `+`, `*` and `%` as functions: the engine computes a result of any size, so a result that would not fit
//! into the memory of the run is refused before it is computed. `x *= y` and `x %= y` are statements of the engine's own:
//! they cannot be replaced, and are not checked before they run.

use std::collections::HashMap;

use starlark::environment::{Globals, GlobalsBuilder};
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::syntax::AstModule;
use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{UnpackValue, Value};

use super::context::Context;

/// Each operator and the name of its function. Names with two underscores at both ends are not for scripts.
const OPERATORS: [(&str, &str); 3] = [("+", "__add__"), ("*", "__mul__"), ("%", "__mod__")];
/// The size of a reference in a list or tuple.
const REFERENCE: usize = 8;
/// Results below this size are not worth a question; the next statement counts them.
const SMALL: usize = 64 << 10;
/// The depth to which the text of a value is measured. The engine itself stops soon after.
const MAX_DEPTH: usize = 100;

/// Adds the functions of the operators to the built-ins of a script.
pub fn register_operators(builder: &mut GlobalsBuilder) {
    functions(builder);
}

/// Whether a name is of a function that scripts reach by an operator only.
pub fn is_operator(name: &str) -> bool {
    OPERATORS.iter().any(|(_, function)| *function == name)
}

/// Makes a script call the functions of the operators, if its built-ins have them.
pub(crate) fn call_operators(module: &mut AstModule, globals: &Globals) {
    if globals.names().any(|name| is_operator(name.as_str())) {
        let functions = OPERATORS.iter().map(|(operator, function)| ((*operator).to_owned(), (*function).to_owned()));
        module.replace_binary_operators(&functions.collect::<HashMap<String, String>>());
    }
}

#[starlark_module]
fn functions(builder: &mut GlobalsBuilder) {
    fn __add__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        require(size(left).saturating_add(size(right)), eval)?;
        left.add(right, eval.heap())
    }

    fn __mul__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        require(times(left, right).max(times(right, left)), eval)?;
        left.mul(right, eval.heap())
    }

    fn __mod__<'v>(
        #[starlark(require = pos)] left: Value<'v>,
        #[starlark(require = pos)] right: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        if let Some(format) = left.unpack_str() {
            let limit = Context::of(eval)?.memory_limit();
            let mut text = TextSize { bytes: format.len(), limit };
            text.add(right, 0);
            require(text.bytes, eval)?;
        }
        left.percent(right, eval.heap())
    }
}

/// Ends the run if there is no room for a result of this size.
fn require(bytes: usize, evaluator: &Evaluator<'_, '_, '_>) -> starlark::Result<()> {
    if bytes < SMALL { Ok(()) } else { Context::of(evaluator)?.require_memory(bytes) }
}

/// The bytes of a text, list or tuple, without what its elements refer to.
fn size(value: Value<'_>) -> usize {
    if let Some(text) = value.unpack_str() {
        text.len()
    } else if let Some(list) = ListRef::from_value(value) {
        list.len() * REFERENCE
    } else {
        TupleRef::from_value(value).map_or(0, |tuple| tuple.len() * REFERENCE)
    }
}

fn times(value: Value<'_>, count: Value<'_>) -> usize {
    match i32::unpack_value(count) {
        Ok(Some(count)) => size(value).saturating_mul(usize::try_from(count).unwrap_or(0)),
        _ => 0,
    }
}

/// Adds up the text that values become, up to the limit.
struct TextSize {
    bytes: usize,
    limit: usize,
}

impl TextSize {
    fn add(&mut self, value: Value<'_>, depth: usize) {
        // Other values than texts have at least two characters, with what separates them.
        self.bytes = self.bytes.saturating_add(value.unpack_str().map_or(2, str::len));
        if depth > MAX_DEPTH {
            return;
        }
        if let Some(list) = ListRef::from_value(value) {
            list.iter().for_each(|element| self.add_within_limit(element, depth));
        } else if let Some(tuple) = TupleRef::from_value(value) {
            tuple.iter().for_each(|element| self.add_within_limit(element, depth));
        } else if let Some(dict) = DictRef::from_value(value) {
            dict.iter().for_each(|(key, value)| {
                self.add_within_limit(key, depth);
                self.add_within_limit(value, depth);
            });
        }
    }

    fn add_within_limit(&mut self, value: Value<'_>, depth: usize) {
        if self.bytes <= self.limit {
            self.add(value, depth + 1);
        }
    }
}
