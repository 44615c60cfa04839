//! The built-in `command()`.

use std::sync::Arc;

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::float::UnpackFloat;
use starlark::values::list::UnpackList;
use starlark::values::none::NoneOr;

use super::handler::CommandHandler;
use super::spec::{ExecutableInput, ExecutableSpec};
use crate::extension::modules::{pairs, seconds};

#[starlark_module]
pub(in crate::extension) fn register_command(builder: &mut GlobalsBuilder) {
    /// Returns a handler that runs an executable, for a tool, resource, template or prompt. `argv` begins with a file
    /// in the extension's folder (`./hello.sh`) or a program in the `PATH`. `allowed_exec` must list it under the same
    /// name.
    ///
    /// The executable receives the arguments as one JSON object on standard input. With `stdin = "none"`, each `{name}`
    /// in `argv` is replaced by that argument instead. There is no shell, so a value never splits into several
    /// arguments. A value that begins with `-` is refused unless `"--"` comes before it in `argv`.
    ///
    /// Standard output is the return value: decoded if it is JSON, otherwise as text. A non-zero exit code returns an
    /// error result with the last lines from standard error. To report progress, write lines like
    /// `{"progress": 1, "total": 3, "message": "..."}` to file descriptor 3. The executable is killed after `timeout`
    /// seconds without progress.
    ///
    /// The executable runs in the extension's folder with a minimal environment (`PATH`, `HOME` and the like) plus
    /// `env`. Its output is limited to 8 MiB.
    ///
    /// ```python
    /// Tool(
    ///     name = "commits",
    ///     description = "The commits that change a file",
    ///     handler = command(["git", "log", "--oneline", "--", "{file}"], stdin = "none"),
    ///     parameters = [ToolParameter(name = "file", param_type = "string", required = True)],
    /// )
    /// ```
    fn command<'v>(
        #[starlark(require = pos)] argv: UnpackList<String>,
        #[starlark(default = "json")] stdin: &str,
        #[starlark(default = NoneOr::None)] env: NoneOr<Value<'v>>,
        #[starlark(default = UnpackFloat(30.0))] timeout: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<CommandHandler> {
        let input = ExecutableInput::parse(stdin)?;
        let env = pairs("env", env, eval.heap())?;
        let spec = ExecutableSpec::new(&argv.items, input, env, seconds("timeout", timeout)?)?;
        Ok(CommandHandler { spec: Arc::new(spec), kind: None })
    }
}
