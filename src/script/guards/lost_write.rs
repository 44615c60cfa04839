//! Refuses statements that write into a copy that nobody keeps: the dicts and lists of metadata and of `config()` are made
//! anew each time they are read, so `meta.parameters["x"] = 1` would change nothing.

use std::collections::HashSet;

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{AssignTarget, AstExpr, AstStmt, Expr, Stmt};

use crate::diagnostic::{Diagnostic, Location};
use crate::script::Source;

/// The members of metadata that are dicts or lists. Not `arguments`, which requests have too: a hook may change its own.
const COPIED_MEMBERS: [&str; 5] = ["parameters", "annotations", "output_schema", "icons", "meta"];
/// The function whose result is read-only, with copies in it.
const CONFIG: &str = "config";
/// Functions whose results have members that can be changed.
const MADE_BY_SCRIPTS: [&str; 2] = ["struct", "record"];
/// The methods that change a dict or list.
const CHANGES: [&str; 9] = ["append", "clear", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"];

pub(in crate::script) fn check(module: &AstModule, source: &Source) -> Result<(), Diagnostic> {
    let mut walker = Walker { made: Made::default(), found: None };
    collect(module.statement(), &mut walker.made);
    walker.statement(module.statement());
    match walker.found {
        Some(write) => Err(write.into_diagnostic(source)),
        None => Ok(()),
    }
}

/// What the names of a file are assigned to.
#[derive(Default)]
struct Made {
    /// By the script itself, so that a write is not lost.
    by_script: HashSet<String>,
    by_config: HashSet<String>,
}

fn collect(statement: &AstStmt, made: &mut Made) {
    if let Stmt::Assign(assignment) = &statement.node
        && let (AssignTarget::Identifier(name), Expr::Call(callee, _)) = (&assignment.lhs.node, &assignment.rhs.node)
        && let Expr::Identifier(function) = &callee.node
    {
        let function = function.node.ident.as_str();
        if function == CONFIG {
            made.by_config.insert(name.node.ident.clone());
        } else if MADE_BY_SCRIPTS.contains(&function) {
            made.by_script.insert(name.node.ident.clone());
        }
    }
    statement.node.visit_stmt(|inner| collect(inner, made));
}

struct LostWrite {
    span: Span,
    copy: Copy,
}

/// What would be written to.
enum Copy {
    Config,
    /// The text of the metadata, and the member.
    Metadata(Span, String),
}

impl LostWrite {
    fn into_diagnostic(self, source: &Source) -> Diagnostic {
        let range = |span: Span| span.begin().get() as usize..span.end().get() as usize;
        let (message, hint) = match self.copy {
            Copy::Config => (
                "this changes nothing: `config()` cannot be changed, and what is read from it is a copy".to_owned(),
                "keep a copy and change that: `params = config()[\"params\"]`, then `params[...] = ...`".to_owned(),
            ),
            Copy::Metadata(owner, member) => {
                let owner = source.text.get(range(owner)).unwrap_or("meta");
                (
                    format!("this changes nothing: `{owner}.{member}` is a copy, and metadata cannot be changed"),
                    format!(
                        "change a copy and make new metadata: `x = {owner}.{member}`, `x[...] = ...`, then `{owner}.replace({member} = x)`"
                    ),
                )
            }
        };
        Diagnostic::error(message)
            .rule("lost-write")
            .at(Location::new(&source.name, source.text.clone(), range(self.span)))
            .hint(hint)
    }
}

struct Walker {
    made: Made,
    /// The first one found.
    found: Option<LostWrite>,
}

impl Walker {
    fn statement(&mut self, statement: &AstStmt) {
        match &statement.node {
            Stmt::Assign(assignment) => self.target(&assignment.lhs.node, assignment.lhs.span),
            Stmt::AssignModify(target, _, _) => self.target(&target.node, target.span),
            Stmt::Expression(expression) => {
                if let Expr::Call(callee, _) = &expression.node
                    && let Expr::Dot(changed, method) = &callee.node
                    && CHANGES.contains(&method.node.as_str())
                {
                    self.write(changed, callee.span);
                }
            }
            _ => {}
        }
        statement.node.visit_stmt(|inner| self.statement(inner));
    }

    fn target(&mut self, target: &AssignTarget, span: Span) {
        match target {
            AssignTarget::Tuple(targets) => targets.iter().for_each(|inner| self.target(&inner.node, inner.span)),
            AssignTarget::Index(parts) => self.write(&parts.0, span),
            AssignTarget::Dot(..) | AssignTarget::Identifier(_) => {}
        }
    }

    /// A write into the value of `written`.
    fn write(&mut self, written: &AstExpr, span: Span) {
        if self.found.is_none()
            && let Some(copy) = self.copy(written, false)
        {
            self.found = Some(LostWrite { span, copy });
        }
    }

    /// What the value of an expression, or what is around it, is a copy of. `inside` if a part of the value is meant.
    fn copy(&self, expression: &AstExpr, inside: bool) -> Option<Copy> {
        match &expression.node {
            Expr::Index(parts) => self.copy(&parts.0, true),
            Expr::Dot(owner, member) if COPIED_MEMBERS.contains(&member.node.as_str()) => {
                let by_script =
                    matches!(&owner.node, Expr::Identifier(name) if self.made.by_script.contains(&name.node.ident));
                (!by_script).then(|| Copy::Metadata(owner.span, member.node.clone()))
            }
            Expr::Call(callee, _) => {
                matches!(&callee.node, Expr::Identifier(name) if name.node.ident == CONFIG).then_some(Copy::Config)
            }
            // A direct write to it is an error of its own.
            Expr::Identifier(name) => {
                (inside && self.made.by_config.contains(&name.node.ident)).then_some(Copy::Config)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::parse;

    fn refusal(text: &str) -> Option<String> {
        parse(&Source::new("policy.star", text)).err().map(|diagnostic| diagnostic.to_string())
    }

    #[test]
    fn a_write_that_would_be_lost_is_refused_with_the_cure() {
        for (text, cure) in [
            ("meta.parameters['x'] = 1", "`meta.replace(parameters = x)`"),
            ("meta.parameters['properties']['x'] = 1", "`meta.replace(parameters = x)`"),
            ("meta.annotations['readOnlyHint'] = True", "`meta.replace(annotations = x)`"),
            ("meta.annotations['n'] += 1", "`meta.replace(annotations = x)`"),
            ("tools[0][0].icons.append({})", "`tools[0][0].replace(icons = x)`"),
            ("a, m.meta['x'] = 1, 2", "`m.replace(meta = x)`"),
            (
                "def f(args):\n    for m in []:\n        m.parameters['properties'].pop('x')",
                "`m.replace(parameters = x)`",
            ),
            ("config()['x'] = 1", "`params = config()[\"params\"]`"),
            ("config()['params']['x'] = 1", "`params = config()[\"params\"]`"),
            ("c = config()\nc['params']['x'] = 1", "`params = config()[\"params\"]`"),
        ] {
            let refusal = refusal(text).unwrap_or_else(|| panic!("accepted: {text}"));
            assert!(refusal.contains("this changes nothing") && refusal.contains(cure), "{refusal}");
            assert!(refusal.contains("policy.star:"), "{refusal}");
        }
    }

    #[test]
    fn a_write_into_something_that_is_kept_is_left_alone() {
        for text in [
            "p = meta.parameters\np['x'] = 1",
            "p = config()['params']\np['x'] = 1",
            "s = struct(parameters = {})\ns.parameters['x'] = 1",
            "d = {}\nd['parameters']['x'] = 1",
            "x = meta.parameters.pop('x', None)",
            "x = meta.parameters['properties']",
            "x.fields['x'] = 1",
            "request.arguments['x'] = 1",
        ] {
            assert_eq!(refusal(text), None, "{text}");
        }
    }
}
