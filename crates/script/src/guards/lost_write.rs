//! Refuses statements that write to a temporary copy: dicts and lists from metadata and `config()` are created anew on
//! each read, so `meta.parameters["x"] = 1` would change nothing. If it is not certain that a value is metadata, this
//! is only a warning.

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{AssignTarget, AstExpr, AstStmt, Expr, Stmt};

use super::held_names::{Holds, Names};
use crate::Source;
use proxy_base::diagnostic::{Diagnostic, Location};

const RULE: &str = "lost-write";
/// The members of metadata that are dicts or lists. Not `arguments`, which requests have too: a hook may change its own.
const COPIED_MEMBERS: [&str; 5] = ["parameters", "annotations", "output_schema", "icons", "meta"];
/// The methods that change a dict or list.
const CHANGES: [&str; 9] = ["append", "clear", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"];

/// Refuses a file with a write that is certainly lost.
pub(crate) fn check(module: &AstModule, source: &Source) -> Result<(), Diagnostic> {
    let certain = found(module).into_iter().find(|write| write.copied_from.is_certain());
    certain.map_or(Ok(()), |write| Err(write.into_diagnostic(source)))
}

/// A warning for each write that is lost if something is metadata.
pub fn possibly_lost_writes(module: &AstModule, source: &Source) -> Vec<Diagnostic> {
    let possible = found(module).into_iter().filter(|write| !write.copied_from.is_certain());
    let shown = possible.filter(|write| !module.is_suppressed(RULE, write.span));
    shown.map(|write| write.into_diagnostic(source)).collect()
}

fn found(module: &AstModule) -> Vec<LostWrite> {
    let mut walker = Walker { names: Names::of(module.statement()), found: Vec::new() };
    walker.statement(module.statement());
    walker.found
}

struct LostWrite {
    span: Span,
    copied_from: CopiedFrom,
}

/// The origin of a value that is copied on each read.
enum CopiedFrom {
    Config,
    /// The text of the metadata, and the member.
    Metadata(Span, String),
    /// The same for something that may be metadata.
    Anything(Span, String),
}

impl CopiedFrom {
    fn is_certain(&self) -> bool {
        !matches!(self, CopiedFrom::Anything(..))
    }
}

impl LostWrite {
    fn into_diagnostic(self, source: &Source) -> Diagnostic {
        let range = |span: Span| span.begin().get() as usize..span.end().get() as usize;
        let text = |span: Span| source.text.get(range(span)).unwrap_or("meta");
        let cure = |owner: &str, member: &str| {
            format!(
                "change a copy and make new metadata: `x = {owner}.{member}`, `x[...] = ...`, then `{owner}.replace({member} = x)`"
            )
        };
        let diagnostic = match self.copied_from {
            CopiedFrom::Config => Diagnostic::error(
                "this changes nothing: `config()` cannot be changed, and values read from it are copies",
            )
            .hint("keep a copy and change that: `params = config()[\"params\"]`, then `params[...] = ...`"),
            CopiedFrom::Metadata(owner, member) => {
                let owner = text(owner);
                let copy = format!("`{owner}.{member}` is a copy, and metadata cannot be changed");
                Diagnostic::error(format!("this changes nothing: {copy}")).hint(cure(owner, &member))
            }
            CopiedFrom::Anything(owner, member) => {
                let owner = text(owner);
                let copy = format!("`{owner}.{member}` is then a copy");
                Diagnostic::warning(format!("this changes nothing if `{owner}` is metadata: {copy}"))
                    .hint(cure(owner, &member))
            }
        };
        diagnostic.rule(RULE).at(Location::new(&source.name, source.text.clone(), range(self.span)))
    }
}

struct Walker {
    names: Names,
    found: Vec<LostWrite>,
}

impl Walker {
    fn statement(&mut self, statement: &AstStmt) {
        match &statement.node {
            Stmt::Def(function) => {
                let inside = self.names.inside(&function.params, &function.body);
                let outside = std::mem::replace(&mut self.names, inside);
                self.statement(&function.body);
                self.names = outside;
                return;
            }
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
        if let Some(copied_from) = self.copied_from(written, false) {
            self.found.push(LostWrite { span, copied_from });
        }
    }

    /// What the value of an expression, or what is around it, is a copy of. `inside` if a part of the value is meant.
    fn copied_from(&self, expression: &AstExpr, inside: bool) -> Option<CopiedFrom> {
        match &expression.node {
            Expr::Index(parts) => self.copied_from(&parts.0, true),
            Expr::Dot(owner, member) if COPIED_MEMBERS.contains(&member.node.as_str()) => {
                match self.names.holds(owner) {
                    Some(Holds::Struct) => None,
                    Some(Holds::Metadata(..)) => Some(CopiedFrom::Metadata(owner.span, member.node.clone())),
                    _ => Some(CopiedFrom::Anything(owner.span, member.node.clone())),
                }
            }
            // A direct write to a variable is an error of its own.
            Expr::Call(..) | Expr::Identifier(_) => {
                let is_config = self.names.holds(expression) == Some(Holds::Config);
                (is_config && (inside || matches!(expression.node, Expr::Call(..)))).then_some(CopiedFrom::Config)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn refusal(text: &str) -> Option<String> {
        parse(&Source::new("policy.star", text)).err().map(|diagnostic| diagnostic.to_string())
    }

    fn warnings(text: &str) -> Vec<String> {
        let source = Source::new("policy.star", text);
        let module = parse(&source).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
        possibly_lost_writes(&module, &source).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_write_that_is_lost_is_refused_with_the_cure() {
        let listed = "for meta, call in backend.tools():\n    ";
        for (text, cure) in [
            ("meta.parameters['x'] = 1", "`meta.replace(parameters = x)`"),
            ("meta.parameters['properties']['x'] = 1", "`meta.replace(parameters = x)`"),
            ("meta.annotations['n'] += 1", "`meta.replace(annotations = x)`"),
            ("a, meta.meta['x'] = 1, 2", "`meta.replace(meta = x)`"),
            ("meta.parameters['properties'].pop('x')", "`meta.replace(parameters = x)`"),
        ] {
            let text = format!("{listed}{text}");
            let refusal = refusal(&text).unwrap_or_else(|| panic!("accepted: {text}"));
            assert!(refusal.contains("this changes nothing:") && refusal.contains(cure), "{refusal}");
            assert!(refusal.contains("policy.star:2"), "{refusal}");
        }
        for text in [
            "m = metadata('a', '', {}, {})\nm.annotations['x'] = 1",
            "m = other.replace(name = 'x')\nm.annotations['x'] = 1",
            "tools = aggregate(backends(), {})\nfor m, _ in tools:\n    m.meta['x'] = 1",
            "tools = b.tools()\ntools[0][0].icons.append({})",
            "for tool in b.prompts():\n    tool[0].meta['x'] = 1",
            "m, call = b.tools()[0]\ndef f(args):\n    m.meta['x'] = 1",
            // The parameter of another function is another variable.
            "def f(m):\n    return m\nfor m, call in b.tools():\n    m.meta['x'] = 1",
            "config()['x'] = 1",
            "config()['params']['x'] = 1",
            "c = config()\nc['params']['x'] = 1",
        ] {
            let refusal = refusal(text).unwrap_or_else(|| panic!("accepted: {text}"));
            assert!(refusal.contains("this changes nothing:"), "{refusal}");
        }
    }

    #[test]
    fn a_write_that_may_be_lost_is_a_warning_that_can_be_silenced() {
        for text in [
            "def f(item):\n    item.meta['x'] = 1",
            "x = made()\nx.icons.append({})",
            "self.items[0].meta['x'] = 1",
            "m = metadata('a', '', {}, {})\nm = made()\nm.meta['x'] = 1",
            "for m, call in b.tools():\n    pass\ndef f(m):\n    m.meta['x'] = 1",
        ] {
            let found = warnings(text);
            assert!(found.len() == 1 && found[0].contains("this changes nothing if"), "{text}: {found:?}");
            let silenced = format!("{text} # starlark-lint-disable lost-write");
            assert_eq!(warnings(&silenced), [""; 0], "{silenced}");
        }
    }

    #[test]
    fn a_write_into_something_that_is_kept_is_left_alone() {
        for text in [
            "p = meta.parameters\np['x'] = 1",
            "p = config()['params']\np['x'] = 1",
            "s = struct(parameters = {})\ns.parameters['x'] = 1",
            "Rec = record(meta = dict)\nr = Rec(meta = {})\nr.meta['a'] = 1",
            "d = {}\nd['parameters']['x'] = 1",
            "x = meta.parameters.pop('x', None)",
            "x = meta.parameters['properties']",
            "x.fields['x'] = 1",
            "request.arguments['x'] = 1",
        ] {
            assert_eq!(refusal(text), None, "{text}");
            assert_eq!(warnings(text), [""; 0], "{text}");
        }
    }
}
