//! Go to definition: in this file, or in a file that it loads. An embedded library becomes a file in the cache.

use std::ops::Range;

use lsp_types::{GotoDefinitionResponse, Location};

use super::document::{OpenDocument, range, uri_of};
use super::tree::tree;
use super::workspace::WorkspaceState;
use super::{definitions, loadable, syntax};
use proxy_builtins::presets;
use proxy_script::{Files, Paths, Source, resolve};

pub(super) fn definition(
    open: &OpenDocument,
    offset: usize,
    workspace: &WorkspaceState,
) -> Option<GotoDefinitionResponse> {
    let document = &open.document;
    let source = document.source();
    if let Some((_, id)) = syntax::string_at(&document.text, offset) {
        return location(&loaded_file(&source, id, workspace)?, 0..0, workspace);
    }
    let (_, name) = syntax::name_at(&document.text, offset)?;
    if let Some(span) = defined_at(&document.text, name) {
        let location = Location::new(open.uri.clone(), range(&document.text, &span));
        return Some(GotoDefinitionResponse::Scalar(location));
    }
    let (file, original) = loaded_function(&source, name, workspace)?;
    let span = defined_at(&file.text, &original).unwrap_or(0..0);
    location(&file, span, workspace)
}

fn defined_at(text: &str, name: &str) -> Option<Range<usize>> {
    Some(definitions::definition(&tree(text)?, name)?.span)
}

/// The file of a name that the source loads, and the name in that file.
pub(super) fn loaded_function(source: &Source, name: &str, workspace: &WorkspaceState) -> Option<(Source, String)> {
    let module = tree(&source.text)?;
    let found = module.loads().into_iter().find_map(|load| Some((load.module_id, load.symbols.get(name).copied()?)));
    let (id, original) = found?;
    Some((loaded_file(source, id, workspace)?, original.to_owned()))
}

/// The file that `load(id)` loads.
fn loaded_file(source: &Source, id: &str, workspace: &WorkspaceState) -> Option<Source> {
    let root = workspace.root(source.path.as_deref())?.canonicalize().ok()?;
    [Paths::Full, Paths::Short]
        .into_iter()
        .find_map(|paths| resolve(id, source, &Files::default(), Some(&root), presets::LIBRARY, paths).ok())
}

fn location(file: &Source, span: Range<usize>, workspace: &WorkspaceState) -> Option<GotoDefinitionResponse> {
    let uri = match &file.path {
        Some(path) => uri_of(path)?,
        None => uri_of(&loadable::written(file, workspace.library_folder.as_deref()?)?)?,
    };
    Some(GotoDefinitionResponse::Scalar(Location::new(uri, range(&file.text, &span))))
}
