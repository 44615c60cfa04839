//! Built-ins that a file takes away from itself by giving their name to something else.

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{AssignTarget, AstStmt, Stmt};

use super::Role;
use crate::diagnostic::{Diagnostic, Place};
use crate::script::Source;

const RULE: &str = "shadowed-builtin";

/// Parameters are left alone: they end with their function, and are often the very thing the built-in gives.
pub(super) fn lint(module: &AstModule, source: &Source, role: Role) -> Vec<Diagnostic> {
    let mut bound = Vec::new();
    collect(module.statement(), &mut bound);
    bound.retain(|(name, span)| role.names().contains(name) && !module.is_suppressed(RULE, *span));
    bound.into_iter().map(|(name, span)| told(&name, span, source)).collect()
}

fn told(name: &str, span: Span, source: &Source) -> Diagnostic {
    let span = span.begin().get() as usize..span.end().get() as usize;
    Diagnostic::warning(format!("`{name}` is a built-in, which cannot be used in this scope any more"))
        .rule(RULE)
        .at(Place::new(&source.name, source.text.clone(), span))
        .hint("give it another name")
}

fn collect(statement: &AstStmt, bound: &mut Vec<(String, Span)>) {
    match &statement.node {
        Stmt::Assign(assignment) => targets(&assignment.lhs, bound),
        Stmt::For(looped) => targets(&looped.var, bound),
        Stmt::Def(function) => bound.push((function.name.node.ident.clone(), function.name.span)),
        Stmt::Load(load) => {
            bound.extend(load.args.iter().map(|name| (name.local.node.ident.clone(), name.local.span)));
        }
        _ => {}
    }
    statement.visit_stmt(|inner| collect(inner, bound));
}

fn targets(target: &AssignTarget, bound: &mut Vec<(String, Span)>) {
    target.visit_lvalue(|name| bound.push((name.node.ident.clone(), name.span)));
}
