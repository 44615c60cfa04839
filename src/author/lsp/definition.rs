//! Go to definition: in this file, or in a file that it loads.

use std::ops::Range;

use lsp_types::{GotoDefinitionResponse, Location};

use super::document::{OpenDocument, range, uri_of};
use super::syntax;
use super::workspace::WorkspaceState;
use crate::builtins::presets;
use crate::script::{Files, Paths, Source, on_big_stack, parse, resolve};

pub(super) fn definition(
    open: &OpenDocument,
    offset: usize,
    workspace: &WorkspaceState,
) -> Option<GotoDefinitionResponse> {
    let document = &open.document;
    let source = document.source();
    if let Some((_, id)) = syntax::string_at(&document.text, offset) {
        return location(&loaded_file(&source, id, workspace)?, 0..0);
    }
    let (_, name) = syntax::name_at(&document.text, offset)?;
    if let Some(span) = syntax::definition(&document.text, name) {
        let location = Location::new(open.uri.clone(), range(&document.text, &span));
        return Some(GotoDefinitionResponse::Scalar(location));
    }
    loaded_name(&source, name, workspace)
}

/// The definition of a name that the file loads.
fn loaded_name(source: &Source, name: &str, workspace: &WorkspaceState) -> Option<GotoDefinitionResponse> {
    let (id, original) = on_big_stack(|| {
        let module = parse(source).ok()?;
        module.loads().into_iter().find_map(|load| {
            let original = load.symbols.get(name)?;
            Some((load.module_id.to_owned(), (*original).to_owned()))
        })
    })
    .ok()??;
    let file = loaded_file(source, &id, workspace)?;
    let span = syntax::definition(&file.text, &original).unwrap_or(0..0);
    location(&file, span)
}

/// The file that `load(id)` loads.
fn loaded_file(source: &Source, id: &str, workspace: &WorkspaceState) -> Option<Source> {
    let root = workspace.root(source.path.as_deref())?.canonicalize().ok()?;
    [Paths::Full, Paths::Short]
        .into_iter()
        .find_map(|paths| resolve(id, source, &Files::default(), Some(&root), presets::LIBRARY, paths).ok())
        .filter(|file| file.path.is_some())
}

fn location(file: &Source, span: Range<usize>) -> Option<GotoDefinitionResponse> {
    let uri = uri_of(file.path.as_deref()?)?;
    Some(GotoDefinitionResponse::Scalar(Location::new(uri, range(&file.text, &span))))
}
