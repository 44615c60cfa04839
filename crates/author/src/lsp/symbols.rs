//! The outline of a file: its functions, including nested ones, and its variables.

use lsp_types::{DocumentSymbol, SymbolKind};

use super::definitions::{Defined, definitions, signature};
use super::document::{ScriptDocument, range};
use super::tree::tree;

pub(super) fn symbols(document: &ScriptDocument) -> Vec<DocumentSymbol> {
    let Some(module) = tree(&document.text) else { return Vec::new() };
    let mut shown: Vec<Defined<'_>> = Vec::new();
    for defined in definitions(&module) {
        let is_new = || !shown.iter().any(|known| known.is_at_top && known.name == defined.name);
        if defined.function.is_some() || (defined.is_at_top && is_new()) {
            shown.push(defined);
        }
    }
    outline(&shown, &document.text)
}

/// What is inside of a definition follows it.
fn outline(mut definitions: &[Defined<'_>], text: &str) -> Vec<DocumentSymbol> {
    let mut found = Vec::new();
    while let Some((first, rest)) = definitions.split_first() {
        let inside = rest.iter().take_while(|defined| defined.whole.start < first.whole.end).count();
        found.push(symbol(first, outline(&rest[..inside], text), text));
        definitions = &rest[inside..];
    }
    found
}

#[expect(deprecated, reason = "the type has a member that the protocol has replaced")]
fn symbol(defined: &Defined<'_>, children: Vec<DocumentSymbol>, text: &str) -> DocumentSymbol {
    let kind = if defined.function.is_some() { SymbolKind::FUNCTION } else { SymbolKind::VARIABLE };
    DocumentSymbol {
        name: defined.name.to_owned(),
        detail: defined.function.map(|function| signature(function, text)),
        kind,
        tags: None,
        deprecated: None,
        range: range(text, &defined.whole),
        selection_range: range(text, &defined.span),
        children: (!children.is_empty()).then_some(children),
    }
}
