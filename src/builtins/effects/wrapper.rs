//! What handlers that stand in front of others have in common.

use starlark::eval::{Arguments, Evaluator};
use starlark::values::Value;

use crate::script::{Context, script_error};

/// What such a handler was called with.
pub(crate) struct Given<'v> {
    pub arguments: Value<'v>,
    /// Such as `timeout`: for the one behind it.
    named: Vec<(&'v str, Value<'v>)>,
}

impl<'v> Given<'v> {
    /// `what` is who was called.
    pub(crate) fn of(
        what: &str,
        arguments: &Arguments<'v, '_>,
        eval: &Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Self> {
        let mut positional = arguments.positions(eval.heap())?;
        let (Some(one), None) = (positional.next(), positional.next()) else {
            return Err(script_error(format!("{what} takes one argument, a dict")));
        };
        let named = arguments.names_map()?.into_iter().map(|(name, value)| (name.as_str(), value)).collect();
        Ok(Given { arguments: one, named })
    }

    /// Calls the one behind with other arguments, and with what else was given.
    pub(crate) fn pass_on(
        &self,
        handler: Value<'v>,
        arguments: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        Context::of(eval)?.invoke(eval, handler, &[arguments], &self.named)
    }
}
