//! Hover: the documentation of the name or string under the cursor.

use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use proxy_base::foreign_text::visible;

use super::definition::loaded_function;
use super::definitions::{definitions, docstring};
use super::document::{ScriptDocument, range};
use super::signature::defined_function;
use super::syntax;
use super::tree::tree;
use super::workspace::WorkspaceState;
use crate::reference;

pub(super) fn hover(document: &ScriptDocument, offset: usize, workspace: &WorkspaceState) -> Option<Hover> {
    let (line, before) = document.line_before(offset);
    let (span, markdown) = match syntax::open_string(before) {
        Some(_) => {
            let (span, content) = syntax::string_at(&document.text, offset)?;
            (span, about_string(content, workspace)?)
        }
        None => {
            let (span, name) = syntax::name_at(&document.text, offset).filter(|(span, _)| span.start >= line)?;
            (span, about_name(name, document, workspace)?)
        }
    };
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value: markdown });
    Some(Hover { contents, range: Some(range(&document.text, &span)) })
}

/// The servers and tools with this name.
fn about_string(content: &str, workspace: &WorkspaceState) -> Option<String> {
    let names = workspace.names();
    let found: Vec<String> = names
        .iter()
        .filter(|known| known.name == content)
        .map(|known| format!("**{}** ({})\n\n{}", known.name, known.kind(), visible(&known.description)))
        .collect();
    (!found.is_empty()).then(|| found.join("\n\n---\n\n"))
}

/// A definition of the file, or of one that it loads, takes precedence over a built-in, because it shadows it.
fn about_name(name: &str, document: &ScriptDocument, workspace: &WorkspaceState) -> Option<String> {
    let module = tree(&document.text);
    let defined = module.iter().flat_map(definitions).find(|defined| defined.name == name);
    if let Some(defined) = defined {
        let docs = defined.function.and_then(docstring).map(|docs| format!("\n\n{docs}")).unwrap_or_default();
        return Some(format!("```python\n{}\n```{docs}", defined.line(&document.text)));
    }
    if let Some((file, original)) = loaded_function(&document.source(), name, workspace)
        && let Some((signature, docs)) = defined_function(&file.text, &original)
    {
        return Some(format!("```python\n{signature}\n```\n\n{docs}\n\n*{}*", file.name));
    }
    let entries = reference::find(name);
    let texts: Vec<String> = entries.iter().map(|entry| entry.markdown()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n---\n\n"))
}
