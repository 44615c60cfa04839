//! The results that a handler wrapped by `cached()` remembers in the store.

use std::time::Duration;

use allocative::Allocative;
use serde_json::Value as Json;
use starlark::eval::Evaluator;
use starlark::values::{StarlarkPagable, Trace, Value};

use super::marks;
use super::store_access::owner;
use proxy_json::{Raw, digest, raw, valid};
use proxy_script::{Context, Host, NotedFact, convert, script_error};
use proxy_store::{CachedResult, Store, StoredResults};

#[derive(Clone, Copy, Debug, Trace, StarlarkPagable, Allocative)]
pub(crate) struct ResultCache {
    /// Separates the results of this wrapper from those of all others, including itself before a reload.
    number: u64,
    ttl_micros: u64,
}

impl ResultCache {
    pub(crate) fn new(ttl: Duration) -> Self {
        let ttl_micros = u64::try_from(ttl.as_micros()).unwrap_or(u64::MAX);
        ResultCache { number: StoredResults::new_number(), ttl_micros }
    }

    /// The remembered result for these arguments, or that of `call`. `key_function` is None if the arguments themselves
    /// are the key.
    pub(crate) fn call<'v>(
        self,
        arguments: Value<'v>,
        key_function: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
        call: impl FnOnce(&mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        let context = Context::of(eval)?;
        context.host_for("calling a cached handler")?;
        let key = match key_function {
            none if none.is_none() => arguments,
            function => context.invoke(eval, function, &[arguments], &[])?,
        };
        let key = convert::to_json(key, heap)
            .map_err(|error| script_error(format!("the cache key cannot be converted to JSON: {error}")))?;
        let key = digest(&key);
        let result =
            context.nested_function("cached", &[&key], eval, |eval| self.remembered_or_new(&key, eval, call))?;
        Ok(convert::text_to_starlark(result.get(), heap)?)
    }

    /// Looks the key up and otherwise calls the handler. A new result is remembered unless it is an error or the user
    /// was asked for it.
    fn remembered_or_new<'v>(
        self,
        key: &str,
        eval: &mut Evaluator<'v, '_, '_>,
        call: impl FnOnce(&mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>>,
    ) -> starlark::Result<Raw> {
        let context = Context::of(eval)?;
        let found = context.effect("cached", &[key], |host| {
            host.scope.note(NotedFact::StateRead);
            let found = host.store::<Store>().and_then(|store| store.cache().get(self.number, &owner_key(host, key)));
            if let Some(found) = &found {
                host.scope.note(NotedFact::CacheHit);
                // Who gets the result has read what the call that made it had read.
                if let Err(error) = marks::note(host, &found.labels, "cached")? {
                    return Ok(Err(error));
                }
            }
            let found = found.map(|found| found.text);
            // An empty list stands for no result, so that a remembered `null` differs from it.
            Ok(valid(format!("[{}]", found.as_deref().unwrap_or_default())).map_err(|error| error.to_string()))
        })?;
        let inside = found.get().strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or_default();
        if !inside.is_empty() {
            return valid(inside.to_owned()).map_err(|error| script_error(error.to_string()));
        }
        let host = context.host_for("calling a cached handler")?;
        // Of the policies that the call is made under, should they change meanwhile.
        let owned_key = owner_key(host.as_ref(), key);
        let asked_before = host.questions.asked();
        let returned = call(eval)?;
        let returned = convert::to_json(returned, eval.heap()).map_err(|error| {
            script_error(format!("the result of a cached handler cannot be converted to JSON: {error}"))
        })?;
        let labels = context.wait(|| marks::labels_now(host))?.map_err(script_error)?;
        let is_error = returned.get("isError") == Some(&Json::Bool(true));
        if let (false, true, Some(store)) = (is_error, asked_before == host.questions.asked(), host.store::<Store>()) {
            let result = CachedResult { text: returned.to_string().into(), labels };
            store.cache().put(self.number, &owned_key, result, Duration::from_micros(self.ttl_micros));
        }
        Ok(raw(&returned))
    }
}

/// The key qualified by the owner of the call, so that owners do not share results.
fn owner_key(host: &Host, key: &str) -> String {
    // A result cached under other policies, or for the same person with other claims, might be denied now.
    let allowed_by = host.authorization.as_ref().map(|authorization| authorization.fingerprint()).unwrap_or_default();
    format!("{:?} {allowed_by} {key}", owner(host))
}
