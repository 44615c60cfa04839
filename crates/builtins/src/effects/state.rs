//! The Starlark modules `state` and `shared_state`: values that a script keeps from one call to the next.
//!
//! The members are written out twice because each has documentation and an example of its own.

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::float::UnpackFloat;
use starlark::values::none::{NoneOr, NoneType};
use std::time::Duration;

use super::marks::{as_tags, labels_now, note, of_tags};
use super::store_access::{Scope, seconds, space, with_store};
use proxy_json::{quote, valid};
use proxy_script::{Context, NotedFact, ScriptError, convert, script_error};

pub(crate) fn register_state(builder: &mut GlobalsBuilder) {
    builder.namespace("state", own_members);
    builder.namespace("shared_state", shared_members);
}

/// Stores values for the call's owner: the authenticated user, or without authentication the session, on standard input
/// and output the process, and for an anonymous request without a session only that request. Values are JSON-like. They
/// survive reloads and, with a Redis store, restarts. A key has at most 256 characters, a value at most 1 MiB, and each
/// owner's values together at most 16 MiB. Only while a call is handled.
#[starlark_module]
fn own_members(builder: &mut GlobalsBuilder) {
    /// Returns a key's value, or the default. Values belong to the call's owner: the user or, without authentication,
    /// the session. They are kept across reloads.
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
        read("state.get", Scope::Owner, key, default, eval)
    }

    /// Sets a key's value, for `ttl` seconds or permanently. Values belong to the call's owner: the user or, without
    /// authentication, the session. They are kept across reloads.
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
        write("state.set", Scope::Owner, key, value, ttl, eval)
    }

    /// Adds to an integer of the call's owner (as for `state.get()`) atomically and returns the sum; concurrent calls
    /// never get the same sum. A missing key counts as 0. `ttl` (in seconds) applies only when the key is created, so a
    /// counter expires that long after its first increment.
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
        add("state.incr", Scope::Owner, key, by, ttl, eval)
    }

    /// Deletes a key of the call's owner (as for `state.get()`). Returns whether it existed.
    ///
    /// ```python
    /// def forget(args):
    ///     return state.delete("last")
    /// ```
    fn delete<'v>(key: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<bool> {
        remove("state.delete", Scope::Owner, key, eval)
    }
}

/// Stores values that all callers of this script share; otherwise like `state`. To keep values apart, put the user into
/// the key. With a Redis store, all proxies that use it share the values.
#[starlark_module]
fn shared_members(builder: &mut GlobalsBuilder) {
    /// Returns a key's value, or the default. All callers of the script share the values. They are kept across reloads.
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
        read("shared_state.get", Scope::Everybody, key, default, eval)
    }

    /// Sets a key's value, for `ttl` seconds or permanently. All callers of the script share the values. They are kept
    /// across reloads.
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
        write("shared_state.set", Scope::Everybody, key, value, ttl, eval)
    }

    /// Adds atomically to an integer that all callers share, and returns the sum. A missing key counts as 0. `ttl` (in
    /// seconds) applies only when the key is created.
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
        add("shared_state.incr", Scope::Everybody, key, by, ttl, eval)
    }

    /// Deletes a key that all callers share. Returns whether it existed.
    ///
    /// ```python
    /// def quiet(args):
    ///     return shared_state.delete("motd")
    /// ```
    fn delete<'v>(key: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<bool> {
        remove("shared_state.delete", Scope::Everybody, key, eval)
    }
}

fn read<'v>(
    kind: &'static str,
    scope: Scope,
    key: &str,
    default: NoneOr<Value<'v>>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let found = Context::of(eval)?.effect(kind, &[key], |host| {
        host.scope.note(NotedFact::StateRead);
        let space = space(host, scope);
        let found = with_store(host, |store| async move { store.get_tagged(&space, key).await })?;
        // Whoever reads a value has read what its writer had read.
        let found = match found {
            Ok(Some((value, tags))) => note(host, &of_tags(tags), namespace_of(kind))?.map(|()| Some(value)),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        // An empty list stands for a missing key, so that a stored None differs from it.
        let text =
            found.map(|value| value.map(|value| String::from_utf8_lossy(&value).into_owned()).unwrap_or_default());
        Ok(text.and_then(|text| {
            valid(format!("[{text}]")).map_err(|_| format!("the stored value of `{key}` is not valid JSON"))
        }))
    })?;
    let heap = eval.heap();
    let found: Option<Value<'v>> = convert::text_to_starlark(found.get(), heap)?.iterate(heap)?.next();
    Ok(found.or(default.into_option()).unwrap_or_else(Value::new_none))
}

/// `state` or `shared_state`, of the name of one of its functions.
fn namespace_of(function: &str) -> &str {
    function.split('.').next().unwrap_or(function)
}

fn write<'v>(
    kind: &'static str,
    scope: Scope,
    key: &str,
    value: Value<'v>,
    ttl: NoneOr<UnpackFloat>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<NoneType> {
    let json = convert::to_json(value, eval.heap())
        .map_err(|error| script_error(format!("cannot store the value of `{key}`: {error}")))?;
    let (text, ttl) = (json.to_string(), parse_ttl(ttl)?);
    Context::of(eval)?.effect(kind, &[key, &text, &encoded_ttl(ttl)], |host| {
        let (space, value) = (space(host, scope), text.clone().into_bytes());
        let tags = match labels_now(host)? {
            Ok(labels) => as_tags(&labels),
            Err(error) => return Ok(Err(error)),
        };
        let done = with_store(host, |store| async move { store.set_tagged(&space, key, value, ttl, &tags).await })?;
        Ok(done.map(|()| proxy_json::raw(&Json::Null)))
    })?;
    Ok(NoneType)
}

fn add<'v>(
    kind: &'static str,
    scope: Scope,
    key: &str,
    by: i64,
    ttl: NoneOr<UnpackFloat>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let ttl = parse_ttl(ttl)?;
    let sum = Context::of(eval)?.effect(kind, &[key, &by.to_string(), &encoded_ttl(ttl)], |host| {
        host.scope.note(NotedFact::StateRead);
        let space = space(host, scope);
        let tags = match labels_now(host)? {
            Ok(labels) => as_tags(&labels),
            Err(error) => return Ok(Err(error)),
        };
        let sum = with_store(host, |store| async move { store.incr_tagged(&space, key, by, ttl, &tags).await })?;
        Ok(match sum {
            Ok((sum, tags)) => note(host, &of_tags(tags), namespace_of(kind))?.map(|()| proxy_json::raw(&sum)),
            Err(error) => Err(error),
        })
    })?;
    Ok(convert::text_to_starlark(sum.get(), eval.heap())?)
}

fn remove<'v>(kind: &'static str, scope: Scope, key: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<bool> {
    let found = Context::of(eval)?.effect(kind, &[key], |host| {
        host.scope.note(NotedFact::StateRead);
        let space = space(host, scope);
        let found = with_store(host, |store| async move { store.delete(&space, key).await })?;
        Ok(found.map(|found| proxy_json::raw(&found)))
    })?;
    Ok(found.get() == "true")
}

fn parse_ttl(ttl: NoneOr<UnpackFloat>) -> Result<Option<Duration>, ScriptError> {
    ttl.into_option().map(|ttl| seconds("ttl", ttl.0)).transpose()
}

/// The time to live as part of the journal entry.
fn encoded_ttl(ttl: Option<Duration>) -> String {
    ttl.map_or_else(|| quote(""), |ttl| ttl.as_nanos().to_string())
}
