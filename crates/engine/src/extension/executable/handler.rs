//! The value that `command()` returns: a handler that runs an executable.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::sync::Arc;

use allocative::Allocative;
use serde_json::Value as Json;
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_simple_value;
use starlark::values::{NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};

use super::returned::{error, returned};
use super::spec::ExecutableSpec;
use crate::extension::Permissions;
use crate::extension::modules::effect_if;
use proxy_host_io::command::{self, CommandProgress};
use proxy_model::ItemKind;
use proxy_script::{Context, convert, script_error};

#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(in crate::extension) struct CommandHandler {
    #[allocative(skip)]
    pub(super) spec: Arc<ExecutableSpec>,
    /// What it is the handler of; None if it is called directly, as by a test.
    #[allocative(skip)]
    pub(super) kind: Option<ItemKind>,
}

starlark_simple_value!(CommandHandler);

impl fmt::Display for CommandHandler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<command {}>", self.spec.command)
    }
}

#[starlark_value(type = "command")]
impl<'v> StarlarkValue<'v> for CommandHandler {
    /// Runs the executable with the arguments in a dict.
    fn invoke(
        &self,
        _me: Value<'v>,
        args: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        args.no_named_args()?;
        let heap = eval.heap();
        let arguments = convert::to_object(args.positional1(heap)?, heap)?
            .ok_or_else(|| script_error("a command takes one dict, the arguments"))?;
        let request = match self.spec.request(&arguments) {
            Ok(request) => request,
            Err(refusal) => return Ok(convert::to_starlark(&error(&refusal), heap)?),
        };
        let output = Context::of(eval)?.host.as_ref().map(|host| Arc::clone(&host.output));
        let report = move |progress: &CommandProgress| {
            if let Some(output) = &output {
                output.progress(progress.done, progress.total, progress.message.as_deref());
            }
        };
        let recorded = request.clone();
        let allowed = |permissions: &Permissions| command::check(&recorded.command, &permissions.exec);
        let outcome = effect_if("exec.command", &recorded, eval, allowed, |runtime| async move {
            let allowed = &runtime.permissions().exec;
            command::run_executable(&runtime.host_io, allowed, runtime.folder(), &request, report).await
        })?;
        let outcome: Json = serde_json::from_str(outcome.get()).map_err(|error| script_error(error.to_string()))?;
        Ok(convert::to_starlark(&returned(&outcome, &self.spec, self.kind), heap)?)
    }
}
