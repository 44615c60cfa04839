//! Where a name is made: in this file, or in one that it loads.

use serde_json::{Value, json};

use super::document::{Document, range, uri_of};
use super::text;
use super::world::World;
use crate::builtins::presets;
use crate::script::{Files, Paths, Source, on_big_stack, parse, resolve};

pub(super) fn definition(document: &Document, offset: usize, world: &World) -> Value {
    let source = document.source();
    if let Some((_, name)) = text::string_at(&document.text, offset) {
        return file(&source, name, world).map_or(Value::Null, |file| location(&file, 0..0));
    }
    let Some((_, name)) = text::name_at(&document.text, offset) else { return Value::Null };
    if let Some(span) = text::definition(&document.text, name) {
        return json!({"uri": document.uri, "range": range(&document.text, &span)});
    }
    loaded(&source, name, world).unwrap_or_default()
}

/// The file behind a name that is loaded.
fn loaded(source: &Source, name: &str, world: &World) -> Option<Value> {
    let (id, original) = on_big_stack(|| {
        let module = parse(source).ok()?;
        module.loads().into_iter().find_map(|load| {
            let original = load.symbols.get(name)?;
            Some((load.module_id.to_owned(), (*original).to_owned()))
        })
    })
    .ok()??;
    let file = file(source, &id, world)?;
    let span = text::definition(&file.text, &original).unwrap_or(0..0);
    Some(location(&file, span))
}

fn file(source: &Source, id: &str, world: &World) -> Option<Source> {
    let root = world.root(source.path.as_deref())?.canonicalize().ok()?;
    [Paths::Full, Paths::Short]
        .into_iter()
        .find_map(|paths| resolve(id, source, &Files::default(), Some(&root), presets::LIBRARY, paths).ok())
        .filter(|file| file.path.is_some())
}

fn location(file: &Source, span: std::ops::Range<usize>) -> Value {
    match &file.path {
        Some(path) => json!({"uri": uri_of(path), "range": range(&file.text, &span)}),
        None => Value::Null,
    }
}
