//! The lint `misspelt-hook`: a function that nothing calls, whose name resembles that of a hook. The proxy finds hooks by
//! their names, so a misspelt `on_request` silently protects nothing.

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{AstExpr, AstStmt, Expr, Stmt};

use super::Role;
use proxy_base::diagnostic::{Diagnostic, Location, nearest};
use proxy_script::Source;

const RULE: &str = "misspelt-hook";
const HOOKS: [&str; 2] = ["on_request", "on_other_request"];

pub(super) fn lint(module: &AstModule, source: &Source, role: Role) -> Vec<Diagnostic> {
    if role != Role::Session {
        return Vec::new();
    }
    let mut functions = Vec::new();
    collect(module.statement(), &mut functions);
    let mut used = Vec::new();
    module.statement().visit_expr(|expression| add_names(expression, &mut used));
    functions.retain(|(name, span)| !used.contains(name) && !module.is_suppressed(RULE, *span));
    functions.into_iter().filter_map(|(name, span)| problem(&name, span, source)).collect()
}

fn problem(name: &str, span: Span, source: &Source) -> Option<Diagnostic> {
    if HOOKS.contains(&name) {
        return None;
    }
    let hook = nearest(name, HOOKS)?;
    let span = span.begin().get() as usize..span.end().get() as usize;
    let problem = Diagnostic::warning(format!("nothing calls `{name}`: the proxy calls only `{hook}`"))
        .rule(RULE)
        .at(Location::new(&source.name, source.text.clone(), span))
        .hint(format!("did you mean `{hook}`?"));
    Some(problem)
}

/// Adds the functions that are defined at the top level.
fn collect(statement: &AstStmt, functions: &mut Vec<(String, Span)>) {
    if let Stmt::Def(function) = &statement.node {
        functions.push((function.name.node.ident.clone(), function.name.span));
        return;
    }
    statement.visit_stmt(|inner| collect(inner, functions));
}

fn add_names(expression: &AstExpr, names: &mut Vec<String>) {
    if let Expr::Identifier(name) = &expression.node {
        names.push(name.node.ident.clone());
    }
    expression.visit_expr(|inner| add_names(inner, names));
}
