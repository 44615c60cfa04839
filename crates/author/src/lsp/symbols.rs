//! The outline of a file: its functions with those in them, and its variables. Works on the text alone, because a file
//! that is being edited seldom parses.

use std::ops::Range;

use lsp_types::{DocumentSymbol, SymbolKind};

use super::document::{ScriptDocument, range};
use super::syntax::is_name_part;

pub(super) fn symbols(document: &ScriptDocument) -> Vec<DocumentSymbol> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in document.text.split_inclusive('\n') {
        lines.push(Line { start, text: line.trim_end() });
        start += line.len();
    }
    outline(&document.text, &lines, true)
}

struct Line<'a> {
    start: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start().len()
    }

    fn code(&self) -> &'a str {
        self.text.trim_start()
    }

    /// The name behind `def `, or in front of `=`.
    fn defined(&self) -> Option<(&'a str, SymbolKind)> {
        let (code, kind) = match self.code().strip_prefix("def ") {
            Some(rest) => (rest.trim_start(), SymbolKind::FUNCTION),
            None => (self.code(), SymbolKind::VARIABLE),
        };
        let name = &code[..code.find(|part: char| !is_name_part(part)).unwrap_or(code.len())];
        let after = code[name.len()..].trim_start();
        let fits = match kind {
            SymbolKind::FUNCTION => after.starts_with('('),
            _ => after.starts_with('=') && !after.starts_with("=="),
        };
        (fits && !name.is_empty()).then_some((name, kind))
    }
}

/// The definitions in these lines. Variables count only at the top level.
fn outline(text: &str, lines: &[Line<'_>], top: bool) -> Vec<DocumentSymbol> {
    let mut found: Vec<DocumentSymbol> = Vec::new();
    let mut index = 0;
    while let Some(line) = lines.get(index) {
        let indent = line.indent();
        let is_inside =
            |line: &Line<'_>| line.code().is_empty() || line.indent() > indent || line.code().starts_with(')');
        let block = index + 1 + lines[index + 1..].iter().take_while(|line| is_inside(line)).count();
        match line.defined() {
            Some((name, SymbolKind::FUNCTION)) => {
                let last = lines[index..block].iter().rev().find(|line| !line.code().is_empty()).unwrap_or(line);
                let children = outline(text, &lines[index + 1..block], false);
                let whole = line.start + indent..last.start + last.text.len();
                found.push(symbol(text, name, SymbolKind::FUNCTION, line, whole, children));
                index = block;
            }
            Some((name, kind)) if top && indent == 0 && !found.iter().any(|symbol| symbol.name == name) => {
                let whole = line.start..line.start + line.text.len();
                found.push(symbol(text, name, kind, line, whole, Vec::new()));
                index += 1;
            }
            _ => index += 1,
        }
    }
    found
}

#[expect(deprecated, reason = "the type has a member that the protocol has replaced")]
fn symbol(
    text: &str,
    name: &str,
    kind: SymbolKind,
    line: &Line<'_>,
    whole: Range<usize>,
    children: Vec<DocumentSymbol>,
) -> DocumentSymbol {
    let start = line.start + line.text.find(name).unwrap_or(0);
    let detail = line.code().strip_prefix("def ").map(|rest| rest.trim_end_matches(':').trim().to_owned());
    DocumentSymbol {
        name: name.to_owned(),
        detail,
        kind,
        tags: None,
        deprecated: None,
        range: range(text, &whole),
        selection_range: range(text, &(start..start + name.len())),
        children: (!children.is_empty()).then_some(children),
    }
}
