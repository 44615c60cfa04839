//! The module `data`: files that come with an extension.

use std::path::PathBuf;

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;

use super::super::world::World;
use super::look;

/// What a file may have.
const MAX_FILE: u64 = 16 << 20;

/// Files that come with an extension: below its folder, or below one that `allowed_paths` names. Paths are relative to the extension's
/// folder; those that lead out of it, also by a link, are refused. Read at the top level, a file is part of the
/// extension: when it changes, the extension is loaded again.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// The value that a JSON file holds: `items = data.load_json("items.json")`.
    fn load_json<'v>(path: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let world = World::of(eval)?;
        look("data.load_json", path, eval, || {
            let text = read(world, path)?;
            serde_json::from_str(&text).map_err(|error| format!("`{path}` is not JSON: {error}"))
        })
    }

    /// A file as text.
    fn load_text<'v>(path: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let world = World::of(eval)?;
        look("data.load_text", path, eval, || read(world, path).map(Json::String))
    }
}

fn read(world: &World, path: &str) -> Result<String, String> {
    let file: PathBuf = world.folder().existing(path)?;
    let size = file.metadata().map_err(|error| format!("`{path}` cannot be read: {error}"))?.len();
    if size > MAX_FILE {
        return Err(format!("`{path}` has {size} bytes; a file may have {MAX_FILE}"));
    }
    let bytes = std::fs::read(&file).map_err(|error| format!("`{path}` cannot be read: {error}"))?;
    world.note(file);
    String::from_utf8(bytes).map_err(|_| format!("`{path}` is not text (UTF-8)"))
}
