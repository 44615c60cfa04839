//! The module `data`: data files of an extension.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;

use super::perform_now;
use crate::extension::client_folders::folder_for;
use crate::extension::runtime::ExtensionRuntime;
use proxy_base::watch::{FileStamp, StampedFile};
use proxy_host_io::Folder;
use proxy_script::{Context, Host, NotedFact};

/// The maximum size of a file in bytes.
const MAX_FILE: u64 = 16 << 20;

/// Reads data files from the extension's folder or from folders listed in `allowed_paths` (`@roots`: the client's
/// folders). Paths are relative to the extension's folder. Paths outside these folders are refused, even through
/// symbolic links. If a file is read at the top level, a change to it reloads the extension.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// Reads a JSON file: `items = data.load_json("items.json")`.
    fn load_json<'v>(path: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let (runtime, folder) = (ExtensionRuntime::of(eval)?, folder_for(path, eval)?);
        let host = Context::of(eval)?.host.clone();
        perform_now("data.load_json", path, eval, || {
            let text = read(runtime, host.as_deref(), &folder, path)?;
            serde_json::from_str(&text).map_err(|error| format!("`{path}` is not JSON: {error}"))
        })
    }

    /// Reads a UTF-8 text file.
    fn load_text<'v>(path: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let (runtime, folder) = (ExtensionRuntime::of(eval)?, folder_for(path, eval)?);
        let host = Context::of(eval)?.host.clone();
        perform_now("data.load_text", path, eval, || read(runtime, host.as_deref(), &folder, path).map(Json::String))
    }

    /// Reads any file, as base64: `return image(data.load_base64("logo.png"), "image/png")`.
    fn load_base64<'v>(path: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let (runtime, folder) = (ExtensionRuntime::of(eval)?, folder_for(path, eval)?);
        let host = Context::of(eval)?.host.clone();
        perform_now("data.load_base64", path, eval, || {
            read_bytes(runtime, host.as_deref(), &folder, path).map(|bytes| STANDARD.encode(bytes).into())
        })
    }
}

fn read(runtime: &ExtensionRuntime, host: Option<&Host>, folder: &Folder, path: &str) -> Result<String, String> {
    let bytes = read_bytes(runtime, host, folder, path)?;
    String::from_utf8(bytes).map_err(|_| format!("`{path}` is not text (UTF-8); `data.load_base64()` reads any file"))
}

fn read_bytes(runtime: &ExtensionRuntime, host: Option<&Host>, folder: &Folder, path: &str) -> Result<Vec<u8>, String> {
    if runtime.host_io.needs_doubles {
        return Err(format!("`{path}` is not read here, where scripts have no files"));
    }
    let opened = folder.open(path)?;
    let unreadable = |error: io::Error| format!("`{path}` cannot be read: {error}");
    let metadata = opened.metadata().map_err(unreadable)?;
    // Reading a pipe would block until somebody writes, and reading a device may never end.
    if !metadata.is_file() {
        return Err(format!("`{path}` is not a file"));
    }
    let too_large = |size: u64| format!("`{path}` has {size} bytes; the maximum is {MAX_FILE}");
    if metadata.len() > MAX_FILE {
        return Err(too_large(metadata.len()));
    }
    if let Some(host) = host {
        // The version before the file is read: a change in the middle counts as a later one.
        let stamp = FileStamp::from(&metadata);
        host.scope.note(NotedFact::FileLoaded(StampedFile { path: opened.path().to_owned(), stamp }));
    }
    // The file may grow meanwhile.
    let bytes = opened.read(MAX_FILE).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(too_large(bytes.len() as u64));
    }
    runtime.record_file(opened.path().to_owned());
    Ok(bytes)
}
