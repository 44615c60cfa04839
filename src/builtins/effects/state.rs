//! `state` and `shared_state`: what a script remembers from one call to the next.

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::float::UnpackFloat;
use starlark::values::none::{NoneOr, NoneType};
use std::time::Duration;

use super::store_access::{seconds, space, with_store};
use crate::json::{quote, valid};
use crate::script::{Context, ScriptError, convert, script_error};

pub(crate) fn register_state(builder: &mut GlobalsBuilder) {
    builder.namespace("state", own_members);
    builder.namespace("shared_state", shared_members);
}

/// What this script remembers for the owner of a call: the authenticated person; without authentication the session; on
/// standard input and output the process; for an anonymous request without a session that request alone. Values are
/// like JSON. They survive reloads, and with a Redis store also restarts. Keys have at most 256 characters, a value
/// 1 MiB, all values of an owner 16 MiB together. Only while a call is handled.
#[starlark_module]
fn own_members(builder: &mut GlobalsBuilder) {
    /// The value of a key, or the default.
    ///
    /// ```python
    /// def last(args):
    ///     return state.get("last", "nothing yet")
    /// ```
    fn get<'v>(
        key: &str,
        #[starlark(default = NoneOr::None)] default: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        read("state.get", false, key, default, eval)
    }

    /// Sets the value of a key, for `ttl` seconds or for good.
    ///
    /// ```python
    /// def remember(args):
    ///     state.set("last", args, ttl = 3600)
    /// ```
    fn set<'v>(
        key: &str,
        value: Value<'v>,
        #[starlark(default = NoneOr::None)] ttl: NoneOr<UnpackFloat>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        write("state.set", false, key, value, ttl, eval)
    }

    /// Adds to a whole number and returns the sum, as one step: two calls at once never get the same. A key that is not
    /// there counts as 0; only then does `ttl` (in seconds) count, so a counter ends that long after it began.
    ///
    /// ```python
    /// def count(args):
    ///     return state.incr("calls", ttl = 60)
    /// ```
    fn incr<'v>(
        key: &str,
        #[starlark(default = 1)] by: i64,
        #[starlark(default = NoneOr::None)] ttl: NoneOr<UnpackFloat>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        add("state.incr", false, key, by, ttl, eval)
    }

    /// Deletes a key; True if there was one.
    ///
    /// ```python
    /// def forget(args):
    ///     return state.delete("last")
    /// ```
    fn delete<'v>(key: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<bool> {
        remove("state.delete", false, key, eval)
    }
}

/// What this script remembers for everybody; otherwise as `state`. Whoever calls sees the same values, so put the user
/// into the key where that matters. With a Redis store all proxies that name it share them.
#[starlark_module]
fn shared_members(builder: &mut GlobalsBuilder) {
    /// The value of a key, or the default.
    ///
    /// ```python
    /// def motd(args):
    ///     return shared_state.get("motd", "welcome")
    /// ```
    fn get<'v>(
        key: &str,
        #[starlark(default = NoneOr::None)] default: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        read("shared_state.get", true, key, default, eval)
    }

    /// Sets the value of a key, for `ttl` seconds or for good.
    ///
    /// ```python
    /// def announce(args):
    ///     shared_state.set("motd", args["text"])
    /// ```
    fn set<'v>(
        key: &str,
        value: Value<'v>,
        #[starlark(default = NoneOr::None)] ttl: NoneOr<UnpackFloat>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        write("shared_state.set", true, key, value, ttl, eval)
    }

    /// Adds to a whole number and returns the sum, as one step. A key that is not there counts as 0; only then does
    /// `ttl` (in seconds) count.
    ///
    /// ```python
    /// def visitor(args):
    ///     return "you are number %d" % shared_state.incr("visitors")
    /// ```
    fn incr<'v>(
        key: &str,
        #[starlark(default = 1)] by: i64,
        #[starlark(default = NoneOr::None)] ttl: NoneOr<UnpackFloat>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        add("shared_state.incr", true, key, by, ttl, eval)
    }

    /// Deletes a key; True if there was one.
    ///
    /// ```python
    /// def quiet(args):
    ///     return shared_state.delete("motd")
    /// ```
    fn delete<'v>(key: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<bool> {
        remove("shared_state.delete", true, key, eval)
    }
}

fn read<'v>(
    kind: &'static str,
    shared: bool,
    key: &str,
    default: NoneOr<Value<'v>>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let found = Context::of(eval)?.effect(kind, &[key], |host| {
        let space = space(host, shared);
        let found = with_store(host, |store| async move { store.get(&space, key).await })?;
        // In a list, so that None can be told from nothing.
        let text =
            found.map(|value| value.map(|value| String::from_utf8_lossy(&value).into_owned()).unwrap_or_default());
        Ok(text.and_then(|text| valid(format!("[{text}]")).map_err(|_| format!("`{key}` holds no value of a script"))))
    })?;
    let heap = eval.heap();
    let found: Option<Value<'v>> = convert::text_to_starlark(found.get(), heap)?.iterate(heap)?.next();
    Ok(found.or(default.into_option()).unwrap_or_else(Value::new_none))
}

fn write<'v>(
    kind: &'static str,
    shared: bool,
    key: &str,
    value: Value<'v>,
    ttl: NoneOr<UnpackFloat>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<NoneType> {
    let json = convert::to_json(value, eval.heap())
        .map_err(|error| script_error(format!("the value of `{key}` cannot be remembered: {error}")))?;
    let (text, ttl) = (json.to_string(), lifetime(ttl)?);
    Context::of(eval)?.effect(kind, &[key, &text, &shown(ttl)], |host| {
        let (space, value) = (space(host, shared), text.clone().into_bytes());
        let done = with_store(host, |store| async move { store.set(&space, key, value, ttl).await })?;
        Ok(done.map(|()| crate::json::raw(&Json::Null)))
    })?;
    Ok(NoneType)
}

fn add<'v>(
    kind: &'static str,
    shared: bool,
    key: &str,
    by: i64,
    ttl: NoneOr<UnpackFloat>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let ttl = lifetime(ttl)?;
    let sum = Context::of(eval)?.effect(kind, &[key, &by.to_string(), &shown(ttl)], |host| {
        let space = space(host, shared);
        let sum = with_store(host, |store| async move { store.incr(&space, key, by, ttl).await })?;
        Ok(sum.map(|sum| crate::json::raw(&sum)))
    })?;
    Ok(convert::text_to_starlark(sum.get(), eval.heap())?)
}

fn remove<'v>(kind: &'static str, shared: bool, key: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<bool> {
    let found = Context::of(eval)?.effect(kind, &[key], |host| {
        let space = space(host, shared);
        let found = with_store(host, |store| async move { store.delete(&space, key).await })?;
        Ok(found.map(|found| crate::json::raw(&found)))
    })?;
    Ok(found.get() == "true")
}

fn lifetime(ttl: NoneOr<UnpackFloat>) -> Result<Option<Duration>, ScriptError> {
    ttl.into_option().map(|ttl| seconds("ttl", ttl.0)).transpose()
}

fn shown(ttl: Option<Duration>) -> String {
    ttl.map_or_else(|| quote(""), |ttl| ttl.as_nanos().to_string())
}
