//! The lint `shadowed-builtin`: definitions that have the name of a built-in.

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{AssignTarget, AstStmt, Stmt};

use super::Role;
use proxy_base::diagnostic::{Diagnostic, Location};
use proxy_script::Source;

const RULE: &str = "shadowed-builtin";

/// Parameters are not checked: their scope is one function, and they often hold the value of the built-in (`config`).
pub(super) fn lint(module: &AstModule, source: &Source, role: Role) -> Vec<Diagnostic> {
    let mut bound = Vec::new();
    collect(module.statement(), &mut bound);
    bound.retain(|(name, span)| role.names().contains(name) && !module.is_suppressed(RULE, *span));
    bound.into_iter().map(|(name, span)| problem(&name, span, source)).collect()
}

fn problem(name: &str, span: Span, source: &Source) -> Diagnostic {
    let span = span.begin().get() as usize..span.end().get() as usize;
    Diagnostic::warning(format!("`{name}` shadows the built-in of the same name"))
        .rule(RULE)
        .at(Location::new(&source.name, source.text.clone(), span))
        .hint("rename it")
}

fn collect(statement: &AstStmt, bound: &mut Vec<(String, Span)>) {
    match &statement.node {
        Stmt::Assign(assignment) => targets(&assignment.lhs, bound),
        Stmt::For(statement) => targets(&statement.var, bound),
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
