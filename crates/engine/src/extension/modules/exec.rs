//! The module `exec`: commands.
#![expect(clippy::too_many_arguments, reason = "a built-in has as many as its users can give")]

use std::borrow::Cow;

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::float::UnpackFloat;
use starlark::values::list::UnpackList;
use starlark::values::none::NoneOr;

use super::{pairs, perform_if, seconds};
use crate::extension::Permissions;
use crate::extension::client_folders::folder_for;
use crate::extension::runtime::ExtensionRuntime;
use proxy_host_io::command::Command;
use proxy_host_io::{Folder, command};

/// Runs local commands. The extension's `allowed_exec` must list each command under exactly the same name. Commands run
/// without a shell, so arguments are passed unchanged.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// Runs a command and waits until it exits. Returns a dict with `stdout`, `stderr`, `exit_code`, `success`,
    /// `timed_out` and `truncated`. With `binary`, for output that is not text, it has `stdout_base64` instead of
    /// `stdout`.
    ///
    /// The command gets a minimal environment (`PATH`, `HOME` and the like) plus `env`. `cwd` is relative to the
    /// extension's folder; with `@roots` in `allowed_paths` it must be inside a folder that the extension may use.
    /// After `timeout` seconds (default 30), or when the call is cancelled, the command is killed along with all its
    /// descendants, daemons included. When a command exits by itself, the rest of its process group is killed. The
    /// first MiB from each stream is kept.
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
        #[starlark(require = named, default = false)] binary: bool,
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
            binary,
        };
        let recorded = request.clone();
        let folder = folder_of_command(request.cwd.as_deref(), eval)?;
        let allowed = |permissions: &Permissions| {
            command::check(&recorded.command, &permissions.exec)?;
            folder.as_ref().map_or(Ok(()), |(folder, cwd)| folder.open(cwd).map(drop))
        };
        let checked = folder.clone();
        perform_if("exec.run", &recorded, eval, allowed, |runtime| async move {
            let mut request = request;
            let opened = checked.map(|(folder, cwd)| folder.open(&cwd)).transpose()?;
            if let Some(opened) = &opened {
                request.cwd = Some(opened.link().display().to_string());
            }
            command::run(&runtime.host_io, &runtime.permissions().exec, runtime.folder(), &request).await
        })
    }
}

/// The folders that the working folder of a command must be in. An extension that uses the folders of the client stays
/// inside of them and of its own; every other runs its commands wherever it wants.
fn folder_of_command<'a>(
    cwd: Option<&str>,
    eval: &Evaluator<'_, 'a, '_>,
) -> starlark::Result<Option<(Cow<'a, Folder>, String)>> {
    let opens = ExtensionRuntime::of(eval)?.permissions().opens_client_folders();
    match cwd.filter(|_| opens) {
        Some(cwd) => Ok(Some((folder_for(cwd, eval)?, cwd.to_owned()))),
        None => Ok(None),
    }
}
