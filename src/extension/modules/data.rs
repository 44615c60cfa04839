//! The module `data`: data files of an extension.

use std::path::PathBuf;

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;

use super::perform_now;
use crate::extension::runtime::ExtensionRuntime;

/// The maximum size of a file in bytes.
const MAX_FILE: u64 = 16 << 20;

/// Data files of the extension, in its folder or in a folder that `allowed_paths` names. Paths are relative to the
/// extension's folder. Paths that lead out of these folders are refused, also through links. A file that is read at the top
/// level is part of the extension: when the file changes, the extension is reloaded.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// Reads a JSON file: `items = data.load_json("items.json")`.
    fn load_json<'v>(path: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let runtime = ExtensionRuntime::of(eval)?;
        perform_now("data.load_json", path, eval, || {
            let text = read(runtime, path)?;
            serde_json::from_str(&text).map_err(|error| format!("`{path}` is not JSON: {error}"))
        })
    }

    /// Reads a UTF-8 text file.
    fn load_text<'v>(path: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let runtime = ExtensionRuntime::of(eval)?;
        perform_now("data.load_text", path, eval, || read(runtime, path).map(Json::String))
    }
}

fn read(runtime: &ExtensionRuntime, path: &str) -> Result<String, String> {
    let file: PathBuf = runtime.folder().existing(path)?;
    let size = file.metadata().map_err(|error| format!("`{path}` cannot be read: {error}"))?.len();
    if size > MAX_FILE {
        return Err(format!("`{path}` has {size} bytes; the maximum is {MAX_FILE}"));
    }
    let bytes = std::fs::read(&file).map_err(|error| format!("`{path}` cannot be read: {error}"))?;
    runtime.record_file(file);
    String::from_utf8(bytes).map_err(|_| format!("`{path}` is not text (UTF-8)"))
}
