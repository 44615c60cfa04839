//! The module `exec`: commands.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::float::UnpackFloat;
use starlark::values::list::UnpackList;
use starlark::values::none::NoneOr;

use super::{pairs, perform_if, seconds};
use crate::extension::Permissions;
use crate::host_io::command;
use crate::host_io::command::Command;

/// Runs commands of this machine: only those that `allowed_exec` of the extension lists, under exactly these names. Commands
/// run without a shell, so arguments are passed unchanged.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// Runs a command and waits until it exits. Returns a dict with `stdout`, `stderr`, `exit_code`, `success`, `timed_out` and
    /// `truncated`.
    ///
    /// The command gets a minimal environment (`PATH`, `HOME` and the like) plus `env`. `cwd` is relative to the extension's
    /// folder. After `timeout` seconds, or when the call is cancelled, the command is killed with everything it has started,
    /// daemons included. When a command exits by itself, the rest of its process group is killed. The first MiB of each stream is
    /// kept.
    ///
    /// ```python
    /// status = exec.run("git", ["status", "--short"], timeout = 5)
    /// if not status["success"]:
    ///     return error(status["stderr"])
    /// ```
    fn run<'v>(
        command: &str,
        #[starlark(default = NoneOr::None)] args: NoneOr<UnpackList<Value<'v>>>,
        #[starlark(default = NoneOr::None)] stdin: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] cwd: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] env: NoneOr<Value<'v>>,
        #[starlark(default = UnpackFloat(30.0))] timeout: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let args = args.into_option().map(|list| list.items).unwrap_or_default();
        let request = Command {
            command: command.to_owned(),
            args: args.iter().map(|argument| argument.to_str()).collect(),
            stdin: stdin.into_option().map(str::to_owned),
            cwd: cwd.into_option().map(str::to_owned),
            env: pairs("env", env, eval.heap())?,
            timeout: seconds("timeout", timeout)?,
        };
        let recorded = request.clone();
        let allowed = |permissions: &Permissions| command::check(&recorded.command, &permissions.exec);
        perform_if("exec.run", &recorded, eval, allowed, |runtime| async move {
            command::run(&runtime.host_io, &runtime.permissions().exec, runtime.folder(), &request).await
        })
    }
}
