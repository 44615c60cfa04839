//! `cached()`: a handler that remembers its results for a while.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::time::Duration;

use allocative::Allocative;
use serde_json::Value as Json;
use starlark::coerce::Coerce;
use starlark::environment::GlobalsBuilder;
use starlark::eval::{Arguments, Evaluator};
use starlark::values::float::UnpackFloat;
use starlark::values::{
    Freeze, NoSerialize, ProvidesStaticType, StarlarkPagable, StarlarkValue, Trace, Value, ValueLifetimeless,
    ValueLike, starlark_value,
};
use starlark::{starlark_complex_value, starlark_module};

use super::in_front::Given;
use super::store_access::{holder, seconds};
use crate::json::{Raw, digest, raw, valid};
use crate::script::{Context, ScriptError, convert, script_error};
use crate::store::Cache;

/// A handler in front of another, whose results it gives again.
#[derive(Debug, Trace, Coerce, Freeze, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
#[repr(C)]
pub struct CachedGen<V: ValueLifetimeless> {
    handler: V,
    /// A function, or None.
    key: V,
    /// Tells its results from those of others, also of itself before a reload.
    number: u64,
    /// In microseconds.
    ttl: u64,
}

starlark_complex_value!(pub Cached);

impl<V: ValueLifetimeless> fmt::Display for CachedGen<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<cached {}>", self.handler)
    }
}

#[starlark_value(type = "function")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for CachedGen<V>
where
    Self: ProvidesStaticType<'v>,
{
    fn name_for_call_stack(&self, _me: Value<'v>) -> String {
        "cached".to_owned()
    }

    fn invoke(
        &self,
        _me: Value<'v>,
        arguments: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        let given = Given::of("a cached handler", arguments, eval)?;
        let context = Context::of(eval)?;
        if context.host.is_none() {
            context.host_for("calling a cached handler")?;
        }
        let key = match self.key.to_value() {
            none if none.is_none() => given.arguments,
            function => context.invoke(eval, function, &[given.arguments], &[])?,
        };
        let key = convert::to_json(key, heap).map_err(|error| {
            script_error(format!("what a cached result is remembered under cannot become JSON: {error}"))
        })?;
        let key = digest(&key);
        let handler = self.handler.to_value();
        let result = context.nested_function("cached", &[&key], eval, |eval| {
            self.remembered(&key, eval, |eval| given.pass_on(handler, given.arguments, eval))
        })?;
        Ok(convert::text_to_starlark(result.get(), heap)?)
    }
}

impl<V: ValueLifetimeless> CachedGen<V> {
    /// The result that is remembered, or a new one, which then is if it may be.
    fn remembered<'v>(
        &self,
        key: &str,
        eval: &mut Evaluator<'v, '_, '_>,
        call: impl FnOnce(&mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>>,
    ) -> starlark::Result<Raw> {
        let context = Context::of(eval)?;
        let found = context.effect("cached", &[key], |host| {
            let found = host.store().and_then(|store| store.cache().get(self.number, &owned(host, key)));
            // In a list, so that a result can be told from none.
            Ok(valid(format!("[{}]", found.as_deref().unwrap_or_default())).map_err(|error| error.to_string()))
        })?;
        let inside = found.get().strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or_default();
        if !inside.is_empty() {
            return valid(inside.to_owned()).map_err(|error| script_error(error.to_string()));
        }
        let host = context.host_for("calling a cached handler")?;
        let asked = host.questions.asked();
        let returned = call(eval)?;
        let returned = convert::to_json(returned, eval.heap())
            .map_err(|error| script_error(format!("a cached handler returned what cannot become JSON: {error}")))?;
        let is_error = returned.get("isError") == Some(&Json::Bool(true));
        if let (false, true, Some(store)) = (is_error, asked == host.questions.asked(), host.store()) {
            let key = owned(host.as_ref(), key);
            store.cache().put(self.number, &key, &returned.to_string(), Duration::from_micros(self.ttl));
        }
        Ok(raw(&returned))
    }
}

/// A key with whose it is: nobody gets another's results.
fn owned(host: &crate::script::Host, key: &str) -> String {
    format!("{:?} {key}", holder(host))
}

#[starlark_module]
pub fn register_cached(builder: &mut GlobalsBuilder) {
    /// A handler that remembers the results of another for `ttl` seconds: for each owner (as of `state`) and equal
    /// arguments, or equal `key(args)`. Errors are not remembered, nor results for which a person was asked something. All
    /// is forgotten on reload.
    ///
    /// ```python
    /// for meta, call in backends()["docs"].tools():
    ///     publish(meta, cached(call, 60) if meta.annotations.get("readOnlyHint") else call)
    /// ```
    fn cached<'v>(
        #[starlark(require = pos)] handler: Value<'v>,
        ttl: UnpackFloat,
        key: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let ttl = seconds("ttl", ttl.0)?;
        let key = key.unwrap_or_else(Value::new_none);
        for (name, value) in [("the first argument of cached()", handler), ("`key`", key)] {
            if value.get_type() != "function" && !(value.is_none() && name == "`key`") {
                let complaint = ScriptError::new(format!("{name} must be a function, not a `{}`", value.get_type()));
                return Err(complaint
                    .hint("`cached(call, 60)`, `cached(call, 60, key = lambda args: args[\"id\"])`")
                    .into());
            }
        }
        let ttl = u64::try_from(ttl.as_micros()).unwrap_or(u64::MAX);
        Ok(eval.heap().alloc(Cached { handler, key, number: Cache::new_number(), ttl }))
    }
}
