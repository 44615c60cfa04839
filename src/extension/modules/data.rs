//! The module `data`: data files of an extension.

use std::fs::File;
use std::io::{self, Read};
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
    let unreadable = |error: io::Error| format!("`{path}` cannot be read: {error}");
    let metadata = file.metadata().map_err(unreadable)?;
    // Opening a pipe would wait for somebody who writes, and reading a device may never end.
    if !metadata.is_file() {
        return Err(format!("`{path}` is not a file"));
    }
    let too_large = |size: u64| format!("`{path}` has {size} bytes; the maximum is {MAX_FILE}");
    if metadata.len() > MAX_FILE {
        return Err(too_large(metadata.len()));
    }
    // The file may grow meanwhile.
    let mut bytes = Vec::new();
    File::open(&file).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(too_large(bytes.len() as u64));
    }
    runtime.record_file(file);
    String::from_utf8(bytes).map_err(|_| format!("`{path}` is not text (UTF-8)"))
}
