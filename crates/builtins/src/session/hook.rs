//! `on_request`: a function of the session script that runs before every request for a tool, resource or prompt.

use std::fmt;
use std::sync::Arc;

use starlark::environment::FrozenModule;
use starlark::eval::Evaluator;
use starlark::values::dict::AllocDict;
use starlark::values::structs::AllocStruct;
use starlark::values::{Heap, OwnedFrozenValue, Value};

use super::identity;
use super::world::World;
use proxy_base::diagnostic::Diagnostic;
use proxy_json::RawRef;
use proxy_model::{ClientInfo, Principal};
use proxy_script::{Context, Host, ScriptError, convert, script_error};

pub(crate) const NAME: &str = "on_request";

/// The `on_request` function of a session script.
#[derive(Clone)]
pub struct Hook(Arc<World>);

impl Hook {
    /// Looks the function up in the evaluated script; None if the script has none.
    pub fn of(module: &FrozenModule, world: &Arc<World>) -> Result<Option<Self>, Diagnostic> {
        let Some(value) = function(module, NAME, "before every request")? else { return Ok(None) };
        let _ = world.hook.set(value);
        Ok(Some(Hook(world.clone())))
    }

    /// The world of the script that has the hook.
    pub(crate) fn world(&self) -> &Arc<World> {
        &self.0
    }
}

/// What a hook learns about the request, besides its arguments and caller.
pub(crate) struct RequestView<'a> {
    pub(crate) method: &'a str,
    pub(crate) name: &'a str,
    /// Whether the tool only passes a call on to another tool, for which the hook runs again.
    pub(crate) forwards: bool,
}

impl fmt::Debug for Hook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(NAME)
    }
}

/// Calls the hook of the running script with a request. Returns None if the request may proceed. The hook gets a copy of the
/// arguments, so that it cannot change those of the handler.
pub(crate) fn run_hook<'v>(
    request: &RequestView<'_>,
    arguments: impl FnOnce(Heap<'v>) -> starlark::Result<Value<'v>>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Option<Value<'v>>> {
    let (context, heap) = (Context::of(eval)?, eval.heap());
    let Some(hook) = context.world::<World>().and_then(|world| world.hook.get()) else { return Ok(None) };
    let arguments = arguments(heap)?;
    let (method, name) = (request.method, request.name);
    let request = request_struct(context.host_for(NAME)?, request, arguments, heap)?;
    let callee = heap.access_owned_frozen_value(hook);
    let recursion_error = || {
        ScriptError::new(format!(
            "`{NAME}` runs for `{name}` and calls `{name}` with `index.call`, which would run `{NAME}` again without end"
        ))
        .hint(format!(
            "let it through first (`if request.name == \"{name}\": return None`), or call its handler, which does not \
             run `{NAME}`: `index.get(\"{name}\")[1](args)`"
        ))
    };
    let run = || context.invoke(eval, callee, &[request], &[]);
    let answer = context.forbid_recursion(&format!("{NAME} {method} {name}"), recursion_error, run)?;
    Ok((!answer.is_none()).then_some(answer))
}

/// A function of the evaluated script that the proxy calls at a certain time; None if the script has none.
pub(super) fn function(module: &FrozenModule, name: &str, when: &str) -> Result<Option<OwnedFrozenValue>, Diagnostic> {
    let found = module.get_option(name).map_err(|error| Diagnostic::error(error.to_string()))?;
    let Some(value) = found.filter(|value| !value.value().is_none()) else { return Ok(None) };
    if value.value().get_type() != "function" {
        let kind = value.value().get_type();
        return Err(Diagnostic::error(format!("`{name}` must be a function, not a `{kind}`"))
            .hint(format!("the proxy calls it {when}: `def {name}(request): ...`")));
    }
    if value.value().parameters_spec().is_some_and(|parameters| !parameters.can_fill_with_args(1, &[])) {
        return Err(Diagnostic::error(format!("`{name}` must take one argument, the request"))
            .hint(format!("the proxy calls it {when}: `def {name}(request): ...`")));
    }
    Ok(Some(value))
}

/// Arguments as a value that a hook can change without effect.
pub(crate) fn copied<'v>(arguments: &RawRef, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    convert::text_to_starlark(arguments.get(), heap)
        .map_err(|error| script_error(format!("the arguments cannot be converted to Starlark values: {error}")))
}

/// The struct that a hook receives.
pub(super) fn request_struct<'v>(
    host: &Host,
    request: &RequestView<'_>,
    arguments: Value<'v>,
    heap: Heap<'v>,
) -> starlark::Result<Value<'v>> {
    let current = host.request();
    let user = match current {
        Some(request) => identity::user_struct(&request.principal, heap)?,
        None => identity::user_struct(&Principal::anonymous(), heap)?,
    };
    let client = match current {
        Some(request) => identity::client_struct(&request.client, heap)?,
        None => identity::client_struct(&ClientInfo::default(), heap)?,
    };
    let headers = current.map(|request| request.headers.clone()).unwrap_or_default();
    let headers = heap.alloc(AllocDict(headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))));
    Ok(heap.alloc(AllocStruct([
        ("method", heap.alloc(request.method)),
        ("name", heap.alloc(request.name)),
        ("forwards", heap.alloc(request.forwards)),
        ("arguments", arguments),
        ("user", user),
        ("client", client),
        ("headers", headers),
    ])))
}
