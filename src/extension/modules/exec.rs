//! The module `exec`: commands.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::float::UnpackFloat;
use starlark::values::list::UnpackList;
use starlark::values::none::NoneOr;

use super::{act_if, pairs, seconds};
use crate::extension::Permissions;
use crate::host_io::command;
use crate::host_io::command::Command;

/// Commands of this machine: only those that `allowed_exec` of the extension names, by exactly these names, and never
/// through a shell: an argument is an argument, whatever is in it.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// Runs a command and waits for its end. A dict with `stdout`, `stderr`, `exit_code`, `success`, `timed_out` and
    /// `truncated`.
    ///
    /// The command gets a small environment (`PATH`, `HOME` and the like) and what `env` adds; `cwd` is relative to the
    /// extension's folder. After `timeout` seconds, and when the call is cancelled, it is ended with everything that it
    /// has started, daemons too. One that ends by itself takes its process group with it. Of each stream the first MiB is kept.
    ///
    /// ```python
    /// done = exec.run("git", ["status", "--short"], timeout = 5)
    /// if not done["success"]:
    ///     return error(done["stderr"])
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
        let asked = request.clone();
        let allowed = |permissions: &Permissions| command::check(&asked.command, &permissions.exec);
        act_if("exec.run", &asked, eval, allowed, |world| async move {
            command::run(&world.reach, &world.permissions().exec, world.folder(), &request).await
        })
    }
}
