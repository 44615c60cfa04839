//! `on_request`: a script's own function that runs before everything that a client or a model names.

use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;
use starlark::environment::FrozenModule;
use starlark::eval::Evaluator;
use starlark::values::Value;
use starlark::values::dict::AllocDict;
use starlark::values::structs::AllocStruct;

use super::identity;
use super::world::World;
use crate::diagnostic::Diagnostic;
use crate::json::RawRef;
use crate::model::{ClientInfo, Principal};
use crate::script::{Before, Context, Function, ScriptError, convert, script_error};

const NAME: &str = "on_request";

/// The hook of a script that has one.
#[derive(Clone)]
pub struct Hook(Arc<World>);

impl Hook {
    /// Takes it from what the script left behind.
    pub fn of(module: &FrozenModule, world: &Arc<World>) -> Result<Option<Self>, Diagnostic> {
        let found = module.get_option(NAME).map_err(|error| Diagnostic::error(error.to_string()))?;
        let Some(value) = found.filter(|value| !value.value().is_none()) else { return Ok(None) };
        if value.value().get_type() != "function" {
            let kind = value.value().get_type();
            return Err(Diagnostic::error(format!("`{NAME}` must be a function, not a `{kind}`"))
                .hint("the proxy calls it before everything that a client names: `def on_request(request): ...`"));
        }
        let _ = world.hook.set(value);
        Ok(Some(Hook(world.clone())))
    }

    /// The function as it runs behind the hook: what the hook returns is its result, unless that is None.
    pub fn before(&self, function: Function) -> Function {
        function.after(Arc::new(self.clone()))
    }

    /// Nothing behind the hook: None goes on.
    pub fn alone(&self) -> Function {
        Function::only(Arc::new(self.clone()), self.0.clone())
    }
}

impl Before for Hook {
    fn run<'v>(&self, arguments: &RawRef, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Option<Value<'v>>> {
        let request =
            Context::of(eval)?.host_for(NAME)?.request().map(|request| (request.method, request.name.clone()));
        let Some((method, name)) = request else { return Ok(None) };
        // A copy of its own: what the hook does with it is not what the handler gets.
        let arguments = convert::text_to_starlark(arguments.get(), eval.heap())
            .map_err(|error| script_error(format!("the arguments cannot be given to a script: {error}")))?;
        ask(method, &name, arguments, eval)
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(NAME)
    }
}

/// Runs the script's hook for a tool that it calls as if the client had named it.
pub(crate) fn ask_for_tool<'v>(
    name: &str,
    arguments: &Json,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Option<Value<'v>>> {
    let hooked = Context::of(eval)?.world::<World>().is_some_and(|world| world.hook.get().is_some());
    if !hooked {
        return Ok(None);
    }
    let arguments = convert::to_starlark(arguments, eval.heap())?;
    ask("tools/call", name, arguments, eval)
}

fn ask<'v>(
    method: &str,
    name: &str,
    arguments: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Option<Value<'v>>> {
    let (context, heap) = (Context::of(eval)?, eval.heap());
    let Some(hook) = context.world::<World>().and_then(|world| world.hook.get()) else { return Ok(None) };
    let known = context.host_for(NAME)?.request();
    let user = match known {
        Some(request) => identity::user(&request.principal, heap)?,
        None => identity::user(&Principal::anonymous(), heap)?,
    };
    let client = match known {
        Some(request) => identity::about(&request.client, heap)?,
        None => identity::about(&ClientInfo::default(), heap)?,
    };
    let headers = known.map(|request| request.headers.clone()).unwrap_or_default();
    let headers = heap.alloc(AllocDict(headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))));
    let request = heap.alloc(AllocStruct([
        ("method", heap.alloc(method)),
        ("name", heap.alloc(name)),
        ("arguments", arguments),
        ("user", user),
        ("client", client),
        ("headers", headers),
    ]));
    let callee = heap.access_owned_frozen_value(hook);
    let again = || {
        ScriptError::new(format!(
            "`{NAME}` is asked about `{name}` and calls it by `index.call`, so it would be asked again, for ever"
        ))
        .hint(format!(
            "let it through first (`if request.name == \"{name}\": return None`), or call its handler, which asks \
                 nobody: `index.get(\"{name}\")[1](args)`"
        ))
    };
    let run = || context.invoke(eval, callee, &[request], &[]);
    let answer = context.not_within_itself(&format!("{NAME} {method} {name}"), again, run)?;
    Ok((!answer.is_none()).then_some(answer))
}
