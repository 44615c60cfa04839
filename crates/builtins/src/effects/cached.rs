//! `cached()`: a handler that remembers its results for a while.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::float::UnpackFloat;

use super::result_cache::ResultCache;
use super::store_access::seconds;
use super::wrapper::Wrapper;
use proxy_script::ScriptError;

#[starlark_module]
pub(crate) fn register_cached(builder: &mut GlobalsBuilder) {
    /// Wraps a handler so that its results are cached for `ttl` seconds. The cache key is the owner (as for `state`)
    /// plus the arguments, or `key(args)` if `key` is given. Errors are not cached, and neither are results that depend
    /// on an elicitation. A reload clears the cache.
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
                let error = ScriptError::new(format!("{name} must be a function, not a `{}`", value.get_type()));
                return Err(error
                    .hint("`cached(call, 60)`, `cached(call, 60, key = lambda args: args[\"id\"])`")
                    .into());
            }
        }
        Ok(eval.heap().alloc(Wrapper::cached(handler, key, ResultCache::new(ttl))))
    }
}
