//! The names of a file that can be used at a position in it.

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{AssignTarget, AstExpr, AstParameter, AstStmt, Clause, Expr, ForClause, Stmt};

/// The names of the file, and those of the functions and comprehensions around `offset`. Recursive: must run on a big
/// stack.
pub(super) fn names_at(module: &AstModule, offset: u32) -> Vec<String> {
    let mut scope = Scope { offset, names: Vec::new() };
    scope.bind(module.statement());
    scope.functions(module.statement());
    module.statement().visit_expr(|expression| scope.expression(expression));
    scope.names
}

/// The names that the top level of a file binds.
pub(super) fn bound_at_top(module: &AstModule) -> Vec<String> {
    let mut scope = Scope { offset: 0, names: Vec::new() };
    scope.bind(module.statement());
    scope.names
}

struct Scope {
    offset: u32,
    names: Vec<String>,
}

impl Scope {
    fn is_in(&self, span: Span) -> bool {
        (span.begin().get()..=span.end().get()).contains(&self.offset)
    }

    fn target(&mut self, target: &AssignTarget) {
        target.visit_lvalue(|name| self.names.push(name.node.ident.clone()));
    }

    fn parameters(&mut self, parameters: &[AstParameter]) {
        self.names.extend(parameters.iter().filter_map(|parameter| Some(parameter.node.ident()?.node.ident.clone())));
    }

    /// Adds what a block binds, without what is local to the functions in it.
    fn bind(&mut self, statement: &AstStmt) {
        match &statement.node {
            Stmt::Assign(assignment) => self.target(&assignment.lhs),
            Stmt::For(each) => self.target(&each.var),
            Stmt::Load(load) => self.names.extend(load.args.iter().map(|name| name.local.node.ident.clone())),
            Stmt::Def(function) => {
                self.names.push(function.name.node.ident.clone());
                return;
            }
            _ => {}
        }
        statement.visit_stmt(|inner| self.bind(inner));
    }

    /// Adds what is local to the functions around the position.
    fn functions(&mut self, statement: &AstStmt) {
        if let Stmt::Def(function) = &statement.node
            && self.is_in(function.body.span)
        {
            self.parameters(&function.params);
            self.bind(&function.body);
        }
        statement.visit_stmt(|inner| self.functions(inner));
    }

    /// Adds what is local to the lambdas and comprehensions around the position.
    fn expression(&mut self, expression: &AstExpr) {
        if !self.is_in(expression.span) {
            return;
        }
        match &expression.node {
            Expr::Lambda(lambda) => self.parameters(&lambda.params),
            Expr::ListComprehension(_, first, rest) | Expr::DictComprehension(_, first, rest) => {
                self.clauses(first, rest);
            }
            _ => {}
        }
        expression.visit_expr(|inner| self.expression(inner));
    }

    fn clauses(&mut self, first: &ForClause, rest: &[Clause]) {
        self.target(&first.var);
        for clause in rest {
            if let Clause::For(each) = clause {
                self.target(&each.var);
            }
        }
    }
}
