//! The checks before an item's handler runs: `on_request`, then the arguments. Client calls, `index.call` and code mode
//! share them and differ only in the source of the arguments.

use std::sync::Arc;

use serde_json::Value as Json;
use starlark::eval::Evaluator;
use starlark::values::{Heap, Value};

use crate::metadata::ArgumentChecks;
use crate::session::hook;
use crate::session::hook::{Hook, RequestView, copied, run_hook};
use proxy_json::RawRef;
use proxy_script::{Before, Context, Function, InvalidArguments, convert};

/// Whether the handler may run.
pub(crate) enum Admitted<'v> {
    Yes,
    /// `on_request` has answered in its place.
    Answered(Value<'v>),
    /// The arguments do not match the tool, for this reason.
    Mismatched(String),
}

/// Runs `on_request` of the running script, then checks the arguments.
fn admit<'v>(
    request: &RequestView<'_>,
    arguments: impl FnOnce(Heap<'v>) -> starlark::Result<Value<'v>>,
    check: impl FnOnce(&dyn Fn()) -> Result<(), String>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Admitted<'v>> {
    if let Some(answer) = run_hook(request, arguments, eval)? {
        return Ok(Admitted::Answered(answer));
    }
    let context = Context::of(eval)?;
    Ok(match check(&|| context.pause()) {
        Ok(()) => Admitted::Yes,
        Err(reason) => Admitted::Mismatched(reason),
    })
}

/// Admits the call of a tool that the script makes for the client, by `index.call` or in code mode.
pub(crate) fn admit_tool<'v>(
    name: &str,
    arguments: &Json,
    checks: Option<&ArgumentChecks>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Admitted<'v>> {
    let request = RequestView { method: "tools/call", name, forwards: false };
    let check = |pause: &dyn Fn()| checks.map_or(Ok(()), |checks| checks.check(arguments, pause));
    admit(&request, |heap| Ok(convert::to_starlark(arguments, heap)?), check, eval)
}

/// Admits a client's own request for a published item.
#[derive(Clone)]
pub struct Admission {
    hook: Hook,
    checks: Option<ArgumentChecks>,
    forwards: bool,
}

impl Admission {
    /// `forwards` says that the item passes requests on, although the script does not publish it as one that does.
    pub fn new(hook: &Hook, checks: Option<&ArgumentChecks>, forwards: bool) -> Self {
        Admission { hook: hook.clone(), checks: checks.cloned(), forwards }
    }

    /// The function after its admission. What `on_request` returns other than None replaces the function's result.
    pub fn before(self, function: Function) -> Function {
        function.after(Arc::new(self))
    }

    /// The admission as a function of its own, which returns None to let the request through.
    pub fn alone(self) -> Function {
        let world = Arc::clone(self.hook.world());
        Function::only(Arc::new(self), world)
    }
}

impl Before for Admission {
    fn run<'v>(&self, arguments: &RawRef, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Option<Value<'v>>> {
        let host = Context::of(eval)?.host_for(hook::NAME)?;
        let Some((method, name)) = host.request().map(|request| (request.method.clone(), request.name.clone())) else {
            return Ok(None);
        };
        let forwarding = self.hook.world().forwarding.get();
        let is_known = || forwarding.is_some_and(|tools| tools.contains(&*name));
        let forwards = self.forwards || method == "tools/call" && is_known();
        let request = RequestView { method: &method, name: &name, forwards };
        let check = |pause: &dyn Fn()| match &self.checks {
            Some(checks) => checks.check(&parsed(arguments)?, pause),
            None => Ok(()),
        };
        match admit(&request, |heap| copied(arguments, heap), check, eval)? {
            Admitted::Yes => Ok(None),
            Admitted::Answered(answer) => Ok(Some(answer)),
            Admitted::Mismatched(reason) => Err(InvalidArguments(reason).into()),
        }
    }
}

fn parsed(arguments: &RawRef) -> Result<Json, String> {
    serde_json::from_str(arguments.get()).map_err(|error| error.to_string())
}
