//! Go to definition: in this file, or in a file that it loads. An embedded library becomes a file in the cache.

use std::ops::Range;

use lsp_types::{GotoDefinitionResponse, Location};

use super::document::{OpenDocument, range, uri_of};
use super::workspace::WorkspaceState;
use super::{loadable, syntax};
use proxy_builtins::presets;
use proxy_script::{Files, Paths, Source, on_big_stack, parse, resolve};

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
    if let Some(span) = syntax::definition(&document.text, name) {
        let location = Location::new(open.uri.clone(), range(&document.text, &span));
        return Some(GotoDefinitionResponse::Scalar(location));
    }
    let (file, original) = loaded_function(&source, name, workspace)?;
    let span = syntax::definition(&file.text, &original).unwrap_or(0..0);
    location(&file, span, workspace)
}

/// The file of a name that the source loads, and the name in that file.
pub(super) fn loaded_function(source: &Source, name: &str, workspace: &WorkspaceState) -> Option<(Source, String)> {
    // A line that is being typed seldom parses; the others before it do.
    let above =
        || source.text.lines().take_while(|line| !line.starts_with("def ")).filter(|line| line.starts_with("load("));
    let loads = |text: &Source| {
        on_big_stack(|| {
            let module = parse(text).ok()?;
            module.loads().into_iter().find_map(|load| {
                let original = load.symbols.get(name)?;
                Some((load.module_id.to_owned(), (*original).to_owned()))
            })
        })
        .ok()
        .flatten()
    };
    let (id, original) = loads(source).or_else(|| {
        let text = above().collect::<Vec<_>>().join("\n");
        loads(&Source { path: source.path.clone(), ..Source::new(source.name.clone(), text) })
    })?;
    Some((loaded_file(source, &id, workspace)?, original))
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
