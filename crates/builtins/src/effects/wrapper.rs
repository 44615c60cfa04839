//! The Starlark value that `bind()`, `cached()` and `unchecked()` return: a handler that wraps another handler.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;

use allocative::Allocative;
use starlark::coerce::Coerce;
use starlark::collections::SmallMap;
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_complex_value;
use starlark::values::dict::{Dict, DictRef};
use starlark::values::{
    Freeze, NoSerialize, ProvidesStaticType, StarlarkPagable, StarlarkPagablePanic, StarlarkValue, Trace, Value,
    ValueLifetimeless, ValueLike, starlark_value,
};

use super::result_cache::ResultCache;
use proxy_script::{Context, script_error};

#[derive(Debug, Trace, Coerce, Freeze, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
#[repr(C)]
pub struct WrapperGen<V: ValueLifetimeless> {
    /// The wrapped handler.
    handler: V,
    /// For [`Behaviour::Bind`] the dict of bound arguments; for [`Behaviour::ResultCache`] the key function, or None; else
    /// None.
    operand: V,
    #[freeze(identity)]
    behaviour: Behaviour,
}

/// What a wrapper does around its handler.
#[derive(Clone, Copy, Debug, Trace, StarlarkPagablePanic, Allocative)]
pub(crate) enum Behaviour {
    /// Overrides arguments of the call with bound values.
    Bind,
    /// Returns remembered results.
    ResultCache(ResultCache),
    /// Takes arguments that do not match the tool's schema.
    Unchecked,
}

starlark_complex_value!(pub Wrapper);

impl<'v> Wrapper<'v> {
    pub(crate) fn bind(handler: Value<'v>, arguments: Value<'v>) -> Self {
        WrapperGen { handler, operand: arguments, behaviour: Behaviour::Bind }
    }

    pub(crate) fn cached(handler: Value<'v>, key: Value<'v>, cache: ResultCache) -> Self {
        WrapperGen { handler, operand: key, behaviour: Behaviour::ResultCache(cache) }
    }

    pub(crate) fn unchecked(handler: Value<'v>) -> Self {
        WrapperGen { handler, operand: Value::new_none(), behaviour: Behaviour::Unchecked }
    }
}

/// Whether a tool's handler checks its arguments itself: it is `unchecked()`, directly or inside other wrappers.
pub(crate) fn is_unchecked(handler: Value<'_>) -> bool {
    let mut inner = Wrapper::from_value(handler);
    while let Some(wrapper) = inner {
        if matches!(wrapper.behaviour, Behaviour::Unchecked) {
            return true;
        }
        inner = Wrapper::from_value(wrapper.handler);
    }
    false
}

impl<V: ValueLifetimeless> fmt::Display for WrapperGen<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let adjective = match self.behaviour {
            Behaviour::Bind => "bound",
            Behaviour::ResultCache(_) => "cached",
            Behaviour::Unchecked => "unchecked",
        };
        write!(formatter, "<{adjective} {}>", self.handler)
    }
}

#[starlark_value(type = "function")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for WrapperGen<V>
where
    Self: ProvidesStaticType<'v>,
{
    fn name_for_call_stack(&self, _me: Value<'v>) -> String {
        match self.behaviour {
            Behaviour::Bind => "bind".to_owned(),
            Behaviour::ResultCache(_) => "cached".to_owned(),
            Behaviour::Unchecked => "unchecked".to_owned(),
        }
    }

    fn invoke(
        &self,
        _me: Value<'v>,
        arguments: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let (handler, operand) = (self.handler.to_value(), self.operand.to_value());
        match self.behaviour {
            Behaviour::Bind => {
                let call = WrappedCall::of("a bound tool", arguments, eval)?;
                let merged = overridden(call.arguments, operand)?;
                let merged = eval.heap().alloc(merged);
                call.forward(handler, merged, eval)
            }
            Behaviour::ResultCache(cache) => {
                let call = WrappedCall::of("a cached handler", arguments, eval)?;
                let arguments = call.arguments;
                cache.call(arguments, operand, eval, |eval| call.forward(handler, arguments, eval))
            }
            Behaviour::Unchecked => {
                let call = WrappedCall::of("an unchecked handler", arguments, eval)?;
                call.forward(handler, call.arguments, eval)
            }
        }
    }
}

/// The arguments, with bound values in place of what the caller sent for them.
fn overridden<'v>(arguments: Value<'v>, bound: Value<'v>) -> starlark::Result<Dict<'v>> {
    let mut merged: SmallMap<Value<'v>, Value<'v>> = SmallMap::new();
    for values in [arguments, bound] {
        let values =
            DictRef::from_value(values).ok_or_else(|| script_error("a bound tool takes one argument, a dict"))?;
        for (key, value) in values.iter_hashed() {
            merged.insert_hashed(key, value);
        }
    }
    Ok(Dict::new(merged))
}

/// The arguments with which a wrapper was called.
struct WrappedCall<'v> {
    arguments: Value<'v>,
    /// Named arguments, such as `timeout`: passed on to the wrapped handler.
    named: Vec<(&'v str, Value<'v>)>,
}

impl<'v> WrappedCall<'v> {
    /// `callee` names the wrapper in error messages.
    fn of(callee: &str, arguments: &Arguments<'v, '_>, eval: &Evaluator<'v, '_, '_>) -> starlark::Result<Self> {
        let mut positional = arguments.positions(eval.heap())?;
        let (Some(one), None) = (positional.next(), positional.next()) else {
            return Err(script_error(format!("{callee} takes one argument, a dict")));
        };
        let named = arguments.names_map()?.into_iter().map(|(name, value)| (name.as_str(), value)).collect();
        Ok(WrappedCall { arguments: one, named })
    }

    fn forward(
        &self,
        handler: Value<'v>,
        arguments: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        Context::of(eval)?.invoke(eval, handler, &[arguments], &self.named)
    }
}
