//! What the names of a scope hold, as far as lists of items, metadata and `config()` are concerned. A name that is assigned
//! in several ways, or is a parameter, may hold anything.

use std::collections::{HashMap, HashSet};

use starlark::syntax::ast::{Argument, AssignTarget, AstArgument, AstExpr, AstParameter, AstStmt, Expr, Stmt};

use super::capture::{assigned, parameters};

/// The methods of a backend that list its items.
const LISTING_METHODS: [&str; 4] = ["tools", "prompts", "resources", "resource_templates"];
/// The functions of the library that return lists of items.
const LISTING_FUNCTIONS: [&str; 9] = [
    "aggregate",
    "aggregate_prompts",
    "aggregate_resources",
    "aggregate_resource_templates",
    "approved",
    "code_mode",
    "optimized",
    "read_only",
    "visible",
];
/// The functions that make metadata.
const MAKERS: [&str; 4] = ["metadata", "prompt_metadata", "resource_metadata", "resource_template_metadata"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// A list of `(metadata, handler)` tuples.
    Items,
    /// A `(metadata, handler)` tuple.
    Item,
    Metadata,
    Config,
    /// A struct or a record, whose members can be changed.
    Struct,
    /// A type whose calls make records.
    RecordType,
}

/// What the names of a scope hold.
#[derive(Clone, Default)]
pub(super) struct Names {
    known: HashMap<String, Holds>,
    /// Names that may hold something else as well.
    unknown: HashSet<String>,
}

impl Names {
    pub(super) fn of(module: &AstStmt) -> Self {
        let mut names = Names::default();
        names.collect(module);
        names
    }

    /// The names inside of a function of this scope.
    pub(super) fn inside(&self, own: &[AstParameter], body: &AstStmt) -> Self {
        let mut names = self.clone();
        for local in assigned(body).into_iter().chain(parameters(own)) {
            names.known.remove(&local);
            names.unknown.remove(&local);
        }
        names.unknown.extend(parameters(own));
        names.collect(body);
        names
    }

    /// What an expression certainly is.
    pub(super) fn holds(&self, expression: &AstExpr) -> Option<Holds> {
        match &expression.node {
            Expr::Identifier(name) => self.name(&name.node.ident),
            Expr::Index(parts) => element(self.holds(&parts.0)?),
            Expr::Call(callee, arguments) => self.called(callee, &arguments.args),
            _ => None,
        }
    }

    fn name(&self, name: &str) -> Option<Holds> {
        self.known.get(name).copied().filter(|_| !self.unknown.contains(name))
    }

    fn called(&self, callee: &AstExpr, arguments: &[AstArgument]) -> Option<Holds> {
        match &callee.node {
            Expr::Identifier(function) => match function.node.ident.as_str() {
                "config" => Some(Holds::Config),
                "struct" => Some(Holds::Struct),
                "record" => Some(Holds::RecordType),
                "bind" => Some(Holds::Item),
                name if MAKERS.contains(&name) => Some(Holds::Metadata),
                name if LISTING_FUNCTIONS.contains(&name) => Some(Holds::Items),
                name => (self.name(name)? == Holds::RecordType).then_some(Holds::Struct),
            },
            Expr::Dot(_, method) => match method.node.as_str() {
                name if LISTING_METHODS.contains(&name) && arguments.is_empty() => Some(Holds::Items),
                // That of a text takes no named arguments.
                "replace" if is_named(arguments) => Some(Holds::Metadata),
                _ => None,
            },
            _ => None,
        }
    }

    fn collect(&mut self, statement: &AstStmt) {
        match &statement.node {
            Stmt::Assign(assignment) => self.bind(&assignment.lhs.node, self.holds(&assignment.rhs)),
            Stmt::AssignModify(target, _, _) => self.bind(&target.node, None),
            Stmt::For(looped) => self.bind(&looped.var.node, self.holds(&looped.over).and_then(element)),
            Stmt::Def(_) => return,
            _ => {}
        }
        statement.node.visit_stmt(|inner| self.collect(inner));
    }

    fn bind(&mut self, target: &AssignTarget, held: Option<Holds>) {
        match (target, held) {
            (AssignTarget::Identifier(name), Some(held)) => {
                if self.known.insert(name.node.ident.clone(), held).is_some_and(|before| before != held) {
                    self.unknown.insert(name.node.ident.clone());
                }
            }
            (AssignTarget::Tuple(targets), Some(Holds::Item)) if targets.len() == 2 => {
                self.bind(&targets[0].node, Some(Holds::Metadata));
                self.bind(&targets[1].node, None);
            }
            (AssignTarget::Tuple(targets), _) => targets.iter().for_each(|inner| self.bind(&inner.node, None)),
            (AssignTarget::Identifier(name), None) => {
                self.unknown.insert(name.node.ident.clone());
            }
            (AssignTarget::Index(_) | AssignTarget::Dot(..), _) => {}
        }
    }
}

/// What an element of a value is.
fn element(of: Holds) -> Option<Holds> {
    match of {
        Holds::Items => Some(Holds::Item),
        Holds::Item => Some(Holds::Metadata),
        _ => None,
    }
}

fn is_named(arguments: &[AstArgument]) -> bool {
    !arguments.is_empty() && arguments.iter().all(|argument| matches!(argument.node, Argument::Named(..)))
}
