//! `check_rate_limit()` and `check_rate_limits()`: token buckets in the store.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::float::UnpackFloat;
use starlark::values::list::UnpackList;

use super::store_access::{seconds, with_store};
use proxy_script::{Context, NotedFact, ScriptError, convert, script_error};
use proxy_store::Limit;

#[starlark_module]
pub fn register_rate_limits(builder: &mut GlobalsBuilder) {
    /// Takes one token from the bucket `key`, which holds `limit` tokens and refills evenly over `window` seconds.
    /// Returns `(allowed, retry_after)`: whether there was a token, and the whole seconds until the next one (0 if
    /// allowed). All sessions with the same store share the bucket; put the user into the key for a per-user limit. The
    /// same key with another limit or window is a different bucket. Only while a call is handled.
    ///
    /// ```python
    /// def send(args):
    ///     allowed, retry_after = check_rate_limit("send", 5, 60)
    ///     if not allowed:
    ///         return error("too many, try again in %d s" % retry_after)
    ///     return "sent"
    /// ```
    fn check_rate_limit<'v>(
        key: &str,
        limit: i32,
        window: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        take("check_rate_limit", vec![bucket(key, limit, window)?], eval)
    }

    /// Takes one token from each of several buckets, or none at all if one bucket is empty, so a refused request does
    /// not use up other limits. `limits` is a list of `(key, limit, window)` tuples with the arguments for
    /// `check_rate_limit()`; a bucket that is listed twice gives one token. Returns `(allowed, retry_after)`; after
    /// `retry_after` seconds, all buckets have a token. Only while a call is handled.
    ///
    /// ```python
    /// def send(args):
    ///     allowed, retry_after = check_rate_limits([("all", 1000, 60), ("send", 5, 60)])
    ///     return "sent" if allowed else error("try again in %d s" % retry_after)
    /// ```
    fn check_rate_limits<'v>(
        limits: UnpackList<(&'v str, i32, UnpackFloat)>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let limits: Result<Vec<Limit>, ScriptError> =
            limits.items.into_iter().map(|(key, limit, window)| bucket(key, limit, window)).collect();
        take("check_rate_limits", limits?, eval)
    }
}

fn bucket(key: &str, limit: i32, window: UnpackFloat) -> Result<Limit, ScriptError> {
    let window = seconds("window", window.0)?;
    Limit::new(key, u32::try_from(limit).unwrap_or_default(), window)
        .map_err(|error| ScriptError::new(error.to_string()))
}

fn take<'v>(kind: &'static str, limits: Vec<Limit>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
    let request: Vec<String> = limits.iter().map(ToString::to_string).collect();
    let request: Vec<&str> = request.iter().map(String::as_str).collect();
    let verdict = Context::of(eval)?.effect(kind, &request, |host| {
        let verdict = with_store(host, |store| async move { store.take_tokens(&limits).await })?;
        Ok(verdict.map(|verdict| proxy_json::raw(&(verdict.allowed, verdict.retry_after()))))
    })?;
    let heap = eval.heap();
    let verdict: Value<'v> = convert::text_to_starlark(verdict.get(), heap)?;
    let pair: Vec<Value<'v>> = verdict.iterate(heap)?.collect();
    match pair[..] {
        [allowed, retry_after] => {
            if let (false, Some(host)) = (allowed.to_bool(), &Context::of(eval)?.host) {
                host.scope.note(NotedFact::RateLimited);
            }
            Ok(heap.alloc((allowed, retry_after)))
        }
        _ => Err(script_error("the store returned an invalid rate-limit result")),
    }
}
