//! The client's folders among those that an extension may use: `allowed_paths = ["@roots"]`.

use std::borrow::Cow;

use starlark::eval::Evaluator;

use super::runtime::ExtensionRuntime;
use proxy_builtins::client_roots;
use proxy_host_io::Folder;
use proxy_script::Context;

/// The folders that count for a path. The client is asked for its folders only if the extension declares that it uses them,
/// and the path is outside of all others. At the top level there is no client.
pub(super) fn folder_for<'a>(path: &str, eval: &Evaluator<'_, 'a, '_>) -> starlark::Result<Cow<'a, Folder>> {
    let (runtime, context) = (ExtensionRuntime::of(eval)?, Context::of(eval)?);
    let folder = runtime.folder();
    if !runtime.permissions().opens_client_folders() || context.host.is_none() || folder.covers(path) {
        return Ok(Cow::Borrowed(folder));
    }
    let paths = client_roots(context)?.into_iter().map(|root| root.path).filter(|path| !path.is_empty());
    Ok(Cow::Owned(folder.clone().with_client_folders(paths)))
}
