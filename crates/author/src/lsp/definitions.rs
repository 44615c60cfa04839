//! The functions and variables that a text defines.

use std::ops::Range;

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{AssignTarget, AstNoPayload, AstStmt, DefP, Stmt};

use proxy_script::literal;

type Function = DefP<AstNoPayload>;

pub(super) struct Defined<'a> {
    pub name: &'a str,
    /// Where the name is.
    pub span: Range<usize>,
    /// The whole statement, without empty lines at its end.
    pub whole: Range<usize>,
    pub function: Option<&'a Function>,
    pub is_at_top: bool,
}

impl Defined<'_> {
    /// The first line of the definition.
    pub(super) fn line(&self, text: &str) -> String {
        match self.function {
            Some(function) => format!("def {}", signature(function, text)),
            None => part(text, self.whole.clone()).lines().next().unwrap_or_default().to_owned(),
        }
    }
}

/// Everything that a text defines, in its order. Recursive: must run on a big stack.
pub(super) fn definitions(module: &AstModule) -> Vec<Defined<'_>> {
    fn collect<'a>(module: &AstModule, statement: &'a AstStmt, is_at_top: bool, found: &mut Vec<Defined<'a>>) {
        let (name, function) = match &statement.node {
            Stmt::Def(function) => (Some(&function.name), Some(function)),
            Stmt::Assign(assignment) => match &assignment.lhs.node {
                AssignTarget::Identifier(name) => (Some(name), None),
                _ => (None, None),
            },
            _ => (None, None),
        };
        if let Some(name) = name {
            // The engine counts the empty lines behind a function as a part of it.
            let span = module.file_span(statement.span);
            let start = range_of(statement.span).start;
            let whole = start..start + span.source_span().trim_end().len();
            found.push(Defined { name: &name.node.ident, span: range_of(name.span), whole, function, is_at_top });
        }
        let is_list = matches!(statement.node, Stmt::Statements(_));
        statement.node.visit_stmt(|inner| collect(module, inner, is_at_top && is_list, found));
    }
    let mut found = Vec::new();
    collect(module, module.statement(), true, &mut found);
    found
}

/// The definition of a name: its function, otherwise its first assignment at the top level.
pub(super) fn definition<'a>(module: &'a AstModule, name: &str) -> Option<Defined<'a>> {
    let mut found = definitions(module);
    found.retain(|defined| defined.name == name && (defined.function.is_some() || defined.is_at_top));
    found.sort_by_key(|defined| defined.function.is_none());
    found.into_iter().next()
}

/// `name(parameters)`, and the type that is returned if the text says it.
pub(super) fn signature(function: &Function, text: &str) -> String {
    let written = part(text, range_of(function.signature_span()));
    let end = match (&function.return_type, function.params.is_empty()) {
        (Some(_), _) => "",
        (None, true) => "()",
        (None, false) => ")",
    };
    written.split_whitespace().collect::<Vec<_>>().join(" ") + end
}

pub(super) fn docstring(function: &Function) -> Option<String> {
    let first = match &function.body.node {
        Stmt::Statements(statements) => statements.first()?,
        _ => &*function.body,
    };
    match &first.node {
        Stmt::Expression(expression) => Some(literal(expression)?.trim().to_owned()),
        _ => None,
    }
}

/// A part of a text. A statement that was completed so that it parses may end behind the text.
pub(super) fn part(text: &str, range: Range<usize>) -> &str {
    text.get(range.start..range.end.min(text.len())).unwrap_or_default()
}

pub(super) fn range_of(span: Span) -> Range<usize> {
    span.begin().get() as usize..span.end().get() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsp::tree::tree;

    #[test]
    fn definitions_of_names() {
        let text = "limit = 1\n\ndef wrap(call,\n         n = 1):\n    '''Wraps.'''\n    limit = 2\n    return call\n";
        let module = tree(text).expect("it parses");
        let place = |name: &str| definition(&module, name).map(|defined| defined.span);
        assert_eq!(place("wrap"), Some(15..19));
        assert_eq!(place("limit"), Some(0..5));
        assert_eq!(place("wra"), None);
        let lines: Vec<String> = definitions(&module).iter().map(|defined| defined.line(text)).collect();
        assert_eq!(lines, ["limit = 1", "def wrap(call, n = 1)", "limit = 2"]);
        let wrap = definition(&module, "wrap").and_then(|wrap| wrap.function);
        assert_eq!(wrap.and_then(docstring).as_deref(), Some("Wraps."));
    }
}
