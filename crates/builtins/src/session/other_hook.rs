//! `on_other_request`: a function of the session script that runs before completions, subscriptions, requests about tasks
//! and methods that MCP does not define.

use std::fmt;
use std::sync::Arc;

use starlark::environment::FrozenModule;
use starlark::eval::Evaluator;
use starlark::values::Value;

use super::hook::{RequestView, copied, function, request_struct};
use super::world::World;
use proxy_base::diagnostic::Diagnostic;
use proxy_json::RawRef;
use proxy_script::{Before, Context, Function, ScriptError};

const NAME: &str = "on_other_request";

/// The `on_other_request` function of a session script.
#[derive(Clone)]
pub struct OtherHook(Arc<World>);

impl OtherHook {
    /// Looks the function up in the evaluated script; None if the script has none.
    pub fn of(module: &FrozenModule, world: &Arc<World>) -> Result<Option<Self>, Diagnostic> {
        let when = "before completions, subscriptions, task requests and vendor methods";
        let Some(value) = function(module, NAME, when)? else { return Ok(None) };
        let _ = world.other_hook.set(value);
        Ok(Some(OtherHook(world.clone())))
    }

    /// The hook as a function that receives the arguments of the request. It returns None, or fails.
    pub fn function(&self) -> Function {
        Function::only(Arc::new(self.clone()), self.0.clone())
    }
}

impl Before for OtherHook {
    fn run<'v>(&self, arguments: &RawRef, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Option<Value<'v>>> {
        let (context, heap) = (Context::of(eval)?, eval.heap());
        let host = context.host_for(NAME)?;
        let (Some(current), Some(hook)) = (host.request(), self.0.other_hook.get()) else { return Ok(None) };
        let (method, name) = (current.method.clone(), current.name.clone());
        let view = RequestView { method: &method, name: &name, forwards: false };
        let request = request_struct(host, &view, copied(arguments, heap)?, heap)?;
        let callee = heap.access_owned_frozen_value(hook);
        let answer = context.invoke(eval, callee, &[request], &[])?;
        if answer.is_none() {
            return Ok(None);
        }
        Err(ScriptError::new(format!(
            "`{NAME}` returned a `{}` for `{method}`; it must return None",
            answer.get_type()
        ))
        .hint("it cannot answer a request: return None to let it through, or refuse it with `fail(\"why\")`")
        .into())
    }
}

impl fmt::Debug for OtherHook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(NAME)
    }
}
