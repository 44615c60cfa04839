//! Infers which expressions and names hold servers, items, or values from `config()`. The guards need certainty; the
//! language server needs what a name holds at the cursor.

use std::collections::{HashMap, HashSet};

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{
    Argument, AssignTarget, AstArgument, AstExpr, AstLiteral, AstParameter, AstStmt, Clause, Expr, Stmt,
};

use super::capture::{assigned, parameters};
use proxy_model::ItemKind;

/// A value of the proxy. Servers are named if the text names them.
#[derive(Clone, Debug, PartialEq)]
pub enum Holds {
    /// `backends()`
    Backends,
    Backend(Option<String>),
    List(Box<Holds>),
    /// The metadata and the handler of an item; the name and the value of an entry.
    Pair(Box<Holds>, Box<Holds>),
    Metadata(ItemKind, Option<String>),
    Handler(ItemKind, Option<String>),
    SearchIndex,
    Text,
    Config,
    /// A struct or a record, whose members can be changed.
    Struct,
    /// A type whose calls make records.
    RecordType,
}

impl Holds {
    /// A list of `(metadata, handler)` tuples.
    fn items(kind: ItemKind, server: Option<String>) -> Holds {
        Holds::List(Box::new(Holds::item(kind, server)))
    }

    fn item(kind: ItemKind, server: Option<String>) -> Holds {
        Holds::Pair(Box::new(Holds::Metadata(kind, server.clone())), Box::new(Holds::Handler(kind, server)))
    }

    /// What a loop over it runs over.
    fn element(self) -> Option<Holds> {
        match self {
            Holds::List(item) => Some(*item),
            Holds::Backends => Some(Holds::Text),
            _ => None,
        }
    }

    /// `self[index]`
    fn at(self, index: &AstExpr) -> Option<Holds> {
        match (self, &index.node) {
            (Holds::Backends, _) => Some(Holds::Backend(literal(index))),
            (Holds::List(item), _) => Some(*item),
            (Holds::Pair(first, second), Expr::Literal(AstLiteral::Int(number))) => {
                Some(if number.node.to_string() == "0" { *first } else { *second })
            }
            (Holds::Pair(_, last), Expr::Minus(_)) => Some(*last),
            _ => None,
        }
    }

    /// The same without its kind and its server, which make no difference to the guards.
    fn without_origin(self) -> Holds {
        match self {
            Holds::Backend(_) => Holds::Backend(None),
            Holds::Metadata(..) => Holds::Metadata(ItemKind::Tool, None),
            Holds::Handler(..) => Holds::Handler(ItemKind::Tool, None),
            Holds::List(item) => Holds::List(Box::new(item.without_origin())),
            Holds::Pair(first, second) => {
                Holds::Pair(Box::new(first.without_origin()), Box::new(second.without_origin()))
            }
            other => other,
        }
    }
}

/// What the names of a scope hold. Without a cursor, a name that is assigned in several ways, or is a parameter, may hold
/// anything.
#[derive(Clone, Default)]
pub struct Names {
    known: HashMap<String, Holds>,
    /// Names that may hold something else as well.
    unknown: HashSet<String>,
    /// The cursor's offset: code after it does not count, and the last assignment before it does.
    cursor: Option<u32>,
}

impl Names {
    pub(super) fn of(module: &AstStmt) -> Self {
        let mut names = Names::default();
        names.collect(module);
        names
    }

    /// What the names hold at an offset. Recursive: must run on a big stack.
    pub fn at(module: &AstModule, offset: u32) -> Self {
        let mut names = Names { cursor: Some(offset), ..Names::default() };
        names.collect(module.statement());
        module.statement().visit_expr(|expression| names.comprehensions(expression));
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

    /// What an expression is.
    pub fn holds(&self, expression: &AstExpr) -> Option<Holds> {
        match &expression.node {
            Expr::Identifier(name) => self.name(&name.node.ident),
            Expr::Index(parts) => self.holds(&parts.0)?.at(&parts.1),
            Expr::Call(callee, arguments) => self.called(callee, &arguments.args),
            Expr::Dot(owner, _) => match self.holds(owner)? {
                Holds::Metadata(..) | Holds::Backend(_) => Some(Holds::Text),
                _ => None,
            },
            _ => None,
        }
    }

    fn name(&self, name: &str) -> Option<Holds> {
        if self.unknown.contains(name) { None } else { self.known.get(name).cloned() }
    }

    fn called(&self, callee: &AstExpr, arguments: &[AstArgument]) -> Option<Holds> {
        let first = arguments.first().map(|argument| argument.node.expr());
        match &callee.node {
            Expr::Identifier(function) => match function.node.ident.as_str() {
                "backends" => Some(Holds::Backends),
                "config" => Some(Holds::Config),
                "struct" => Some(Holds::Struct),
                "record" => Some(Holds::RecordType),
                "search_index" => Some(Holds::SearchIndex),
                "bind" => Some(Holds::item(ItemKind::Tool, None)),
                "metadata" => Some(Holds::Metadata(ItemKind::Tool, None)),
                "prompt_metadata" => Some(Holds::Metadata(ItemKind::Prompt, None)),
                "resource_metadata" => Some(Holds::Metadata(ItemKind::Resource, None)),
                "resource_template_metadata" => Some(Holds::Metadata(ItemKind::ResourceTemplate, None)),
                // Functions of the library.
                "aggregate" | "approved" | "code_mode" | "optimized" | "read_only" | "visible" => {
                    Some(Holds::items(ItemKind::Tool, None))
                }
                // The guard refuses only what is certain at first sight; the language server sees further.
                "list" | "sorted" | "reversed" if self.cursor.is_some() => self.holds(first?),
                name => match name.strip_prefix("aggregate_").and_then(listed) {
                    Some(kind) => Some(Holds::items(kind, None)),
                    None => (self.name(name)? == Holds::RecordType).then_some(Holds::Struct),
                },
            },
            Expr::Dot(owner, method) => match (self.holds(owner), method.node.as_str()) {
                (Some(Holds::Backends), "get") => Some(Holds::Backend(first.and_then(literal))),
                (Some(Holds::Backends), "values") => Some(Holds::List(Box::new(Holds::Backend(None)))),
                (Some(Holds::Backends), "keys") => Some(Holds::List(Box::new(Holds::Text))),
                (Some(Holds::Backends), "items") => {
                    let entry = Holds::Pair(Box::new(Holds::Text), Box::new(Holds::Backend(None)));
                    Some(Holds::List(Box::new(entry)))
                }
                (Some(changed @ Holds::Metadata(..)), "replace") => Some(changed),
                // That of a text takes no named arguments.
                (_, "replace") if is_named(arguments) => Some(Holds::Metadata(ItemKind::Tool, None)),
                (Some(Holds::Backend(server)), name) => Some(Holds::items(listed(name)?, server)),
                (_, name) if arguments.is_empty() => Some(Holds::items(listed(name)?, None)),
                _ => None,
            },
            _ => None,
        }
    }

    fn collect(&mut self, statement: &AstStmt) {
        if self.cursor.is_some_and(|cursor| statement.span.begin().get() >= cursor) {
            return;
        }
        match &statement.node {
            Stmt::Assign(assignment) if !self.is_at_cursor(statement.span) => {
                self.bind(&assignment.lhs.node, self.holds(&assignment.rhs));
            }
            Stmt::AssignModify(target, _, _) => self.bind(&target.node, None),
            Stmt::For(looped) => self.bind(&looped.var.node, self.holds(&looped.over).and_then(Holds::element)),
            Stmt::Def(function) => {
                if self.is_at_cursor(function.body.span) {
                    *self = self.inside(&function.params, &function.body);
                }
                return;
            }
            _ => {}
        }
        statement.node.visit_stmt(|inner| self.collect(inner));
    }

    /// Binds what the comprehensions around the cursor bind.
    fn comprehensions(&mut self, expression: &AstExpr) {
        if !self.is_at_cursor(expression.span) {
            return;
        }
        if let Expr::ListComprehension(_, first, others) | Expr::DictComprehension(_, first, others) = &expression.node
        {
            self.bind(&first.var.node, self.holds(&first.over).and_then(Holds::element));
            for other in others {
                if let Clause::For(other) = other {
                    self.bind(&other.var.node, self.holds(&other.over).and_then(Holds::element));
                }
            }
        }
        expression.node.visit_expr(|inner| self.comprehensions(inner));
    }

    fn is_at_cursor(&self, span: Span) -> bool {
        self.cursor.is_some_and(|cursor| (span.begin().get()..=span.end().get()).contains(&cursor))
    }

    fn bind(&mut self, target: &AssignTarget, held: Option<Holds>) {
        match (target, held) {
            (AssignTarget::Identifier(name), Some(held)) => {
                let name = &name.node.ident;
                if self.cursor.is_some() {
                    self.unknown.remove(name);
                    self.known.insert(name.clone(), held);
                    return;
                }
                let held = held.without_origin();
                if self.known.insert(name.clone(), held.clone()).is_some_and(|before| before != held) {
                    self.unknown.insert(name.clone());
                }
            }
            (AssignTarget::Tuple(targets), Some(Holds::Pair(first, second))) if targets.len() == 2 => {
                self.bind(&targets[0].node, Some(*first));
                self.bind(&targets[1].node, Some(*second));
            }
            (AssignTarget::Tuple(targets), _) => targets.iter().for_each(|inner| self.bind(&inner.node, None)),
            (AssignTarget::Identifier(name), None) => {
                self.unknown.insert(name.node.ident.clone());
            }
            (AssignTarget::Index(_) | AssignTarget::Dot(..), _) => {}
        }
    }
}

/// The kind of the items that a method of a backend lists.
fn listed(method: &str) -> Option<ItemKind> {
    match method {
        "tools" => Some(ItemKind::Tool),
        "prompts" => Some(ItemKind::Prompt),
        "resources" => Some(ItemKind::Resource),
        "resource_templates" => Some(ItemKind::ResourceTemplate),
        _ => None,
    }
}

/// The content of a string literal.
pub fn literal(expression: &AstExpr) -> Option<String> {
    match &expression.node {
        Expr::Literal(AstLiteral::String(text)) => Some(text.node.clone()),
        _ => None,
    }
}

fn is_named(arguments: &[AstArgument]) -> bool {
    !arguments.is_empty() && arguments.iter().all(|argument| matches!(argument.node, Argument::Named(..)))
}
