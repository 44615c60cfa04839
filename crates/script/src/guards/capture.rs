//! Refuses functions that capture a loop variable. Starlark captures variables, not values, so every handler created in
//! the loop would see the last value and call the same tool.

use std::collections::HashSet;

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{
    AssignTarget, AstExpr, AstParameter, AstStmt, Clause, Expr, ForClause, LambdaP, Parameter, Stmt,
};

use crate::Source;
use proxy_base::diagnostic::{Diagnostic, Location};

/// Functions that call a lambda argument immediately, so it cannot see a later value.
const RUN_AT_ONCE: [&str; 8] = ["sorted", "min", "max", "map", "filter", "any", "all", "attempt"];

pub(crate) fn check(module: &AstModule, source: &Source) -> Result<(), Diagnostic> {
    let mut walker = Walker { scopes: vec![Scope::module(module.statement())], found: None };
    walker.statement(module.statement());
    match walker.found {
        Some(capture) => Err(capture.into_diagnostic(source)),
        None => Ok(()),
    }
}

type Names = HashSet<String>;

/// A scope of names: the file, a function, a comprehension.
struct Scope {
    bound: Names,
    /// The names that each loop around the current statement assigns, outermost first.
    loops: Vec<Names>,
    /// Targets of `for` statements at the top level: functions may not capture them even outside of the loop.
    top_level_targets: Names,
    kind: ScopeKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScopeKind {
    Module,
    Function,
    /// A lambda that is called immediately.
    Immediate,
    Comprehension,
}

impl Scope {
    fn new(kind: ScopeKind, bound: Names) -> Self {
        Scope { bound, loops: Vec::new(), top_level_targets: Names::new(), kind }
    }

    fn module(statement: &AstStmt) -> Self {
        let mut scope = Scope::new(ScopeKind::Module, assigned(statement));
        top_level_targets(statement, &mut scope.top_level_targets);
        scope
    }
}

struct LoopCapture {
    name: String,
    span: Span,
    top_level: bool,
}

impl LoopCapture {
    fn into_diagnostic(self, source: &Source) -> Diagnostic {
        let name = &self.name;
        let message = if self.top_level {
            format!(
                "this function reads `{name}`, the target of a `for` at the top level: it would see only its last value"
            )
        } else {
            format!("this function reads `{name}`, which the loop around it assigns: it would see only its last value")
        };
        let hint = if self.top_level {
            format!("pass it as a parameter: `def make({name}): return lambda args: ...`, then `make({name})`")
        } else {
            format!("bind it now: `lambda args, {name} = {name}: ...`, or make the function in `def make({name}): ...`")
        };
        let span = self.span.begin().get() as usize..self.span.end().get() as usize;
        Diagnostic::error(message)
            .rule("loop-capture")
            .at(Location::new(&source.name, source.text.clone(), span))
            .hint(hint)
    }
}

struct Walker {
    scopes: Vec<Scope>,
    /// The first one found.
    found: Option<LoopCapture>,
}

impl Walker {
    fn statement(&mut self, statement: &AstStmt) {
        match &statement.node {
            Stmt::For(looped) => {
                self.expression(&looped.over);
                let mut names = assigned(&looped.body);
                targets(&looped.var, &mut names);
                self.enter_loop(names);
                looped.var.visit_expr(|inner| self.expression(inner));
                self.statement(&looped.body);
                self.leave_loop();
            }
            Stmt::Def(function) => {
                self.defaults(&function.params);
                let mut bound = assigned(&function.body);
                bound.extend(parameters(&function.params));
                self.scopes.push(Scope::new(ScopeKind::Function, bound));
                self.statement(&function.body);
                self.scopes.pop();
            }
            Stmt::Statements(statements) => statements.iter().for_each(|inner| self.statement(inner)),
            Stmt::If(condition, then) => {
                self.expression(condition);
                self.statement(then);
            }
            Stmt::IfElse(condition, branches) => {
                self.expression(condition);
                self.statement(&branches.0);
                self.statement(&branches.1);
            }
            other => other.visit_expr(|inner| self.expression(inner)),
        }
    }

    fn expression(&mut self, expression: &AstExpr) {
        match &expression.node {
            Expr::Identifier(name) => self.read(&name.node.ident, name.span),
            Expr::Lambda(lambda) => self.lambda(lambda, ScopeKind::Function),
            Expr::Call(callee, arguments) => {
                self.expression(callee);
                let at_once =
                    matches!(&callee.node, Expr::Identifier(name) if RUN_AT_ONCE.contains(&name.node.ident.as_str()));
                for argument in &arguments.args {
                    match &argument.node.expr().node {
                        Expr::Lambda(lambda) if at_once => self.lambda(lambda, ScopeKind::Immediate),
                        _ => self.expression(argument.node.expr()),
                    }
                }
            }
            Expr::ListComprehension(item, first, clauses) => self.comprehension(&[item.as_ref()], first, clauses),
            Expr::DictComprehension(item, first, clauses) => self.comprehension(&[&item.0, &item.1], first, clauses),
            other => other.visit_expr(|inner| self.expression(inner)),
        }
    }

    fn lambda(&mut self, lambda: &LambdaP<starlark::syntax::ast::AstNoPayload>, kind: ScopeKind) {
        self.defaults(&lambda.params);
        self.scopes.push(Scope::new(kind, parameters(&lambda.params).collect()));
        self.expression(&lambda.body);
        self.scopes.pop();
    }

    fn comprehension(&mut self, items: &[&AstExpr], first: &ForClause, clauses: &[Clause]) {
        self.expression(&first.over);
        let mut bound = Names::new();
        targets(&first.var, &mut bound);
        for clause in clauses {
            if let Clause::For(inner) = clause {
                targets(&inner.var, &mut bound);
            }
        }
        self.scopes.push(Scope::new(ScopeKind::Comprehension, bound));
        for clause in clauses {
            clause.visit_expr(|inner| self.expression(inner));
        }
        items.iter().for_each(|item| self.expression(item));
        self.scopes.pop();
    }

    /// Default values are evaluated where the function is created, so they may read loop variables.
    fn defaults(&mut self, parameters: &[AstParameter]) {
        for parameter in parameters {
            parameter.visit_expr(|default| self.expression(default));
        }
    }

    fn enter_loop(&mut self, names: Names) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.loops.push(names);
        }
    }

    fn leave_loop(&mut self) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.loops.pop();
        }
    }

    /// Finds the scope of a name. Reading it from inside of a function that outlives the loop is a capture.
    fn read(&mut self, name: &str, span: Span) {
        let mut crossed = false;
        for scope in self.scopes.iter().rev() {
            if !scope.bound.contains(name) {
                crossed |= scope.kind == ScopeKind::Function;
                continue;
            }
            let looped = scope.kind == ScopeKind::Comprehension || scope.loops.iter().any(|names| names.contains(name));
            let top_level = scope.top_level_targets.contains(name);
            if crossed && (looped || top_level) && self.found.is_none() {
                self.found = Some(LoopCapture { name: name.to_owned(), span, top_level: !looped });
            }
            return;
        }
    }
}

pub(super) fn parameters(parameters: &[AstParameter]) -> impl Iterator<Item = String> {
    parameters.iter().filter_map(|parameter| Parameter::ident(&parameter.node)).map(|name| name.node.ident.clone())
}

fn targets(target: &AssignTarget, names: &mut Names) {
    target.visit_lvalue(|name| {
        names.insert(name.node.ident.clone());
    });
}

/// The names that a statement assigns in its own scope, without those of nested functions and comprehensions.
pub(super) fn assigned(statement: &AstStmt) -> Names {
    fn collect(statement: &AstStmt, names: &mut Names) {
        match &statement.node {
            Stmt::Assign(assignment) => targets(&assignment.lhs, names),
            Stmt::AssignModify(target, _, _) => targets(target, names),
            Stmt::For(looped) => {
                targets(&looped.var, names);
                collect(&looped.body, names);
            }
            Stmt::Def(function) => {
                names.insert(function.name.node.ident.clone());
            }
            Stmt::Load(load) => names.extend(load.args.iter().map(|argument| argument.local.node.ident.clone())),
            other => other.visit_stmt(|inner| collect(inner, names)),
        }
    }
    let mut names = Names::new();
    collect(statement, &mut names);
    names
}

fn top_level_targets(statement: &AstStmt, names: &mut Names) {
    match &statement.node {
        Stmt::For(looped) => {
            targets(&looped.var, names);
            top_level_targets(&looped.body, names);
        }
        Stmt::Def(_) => {}
        other => other.visit_stmt(|inner| top_level_targets(inner, names)),
    }
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
