//! The lint `when-unavailable`: `elicit()` calls without `when_unavailable`. They would fail only when a call reaches
//! them.

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{Argument, AstArgument, AstExpr, AstLiteral, Expr};

use super::{Role, scope};
use proxy_base::diagnostic::{Diagnostic, Location, nearest};
use proxy_builtins::UNAVAILABLE;
use proxy_script::Source;

const RULE: &str = "when-unavailable";
const ASK: [&str; 2] = ["elicit", "elicit_url"];
const PARAMETER: &str = "when_unavailable";

pub(super) fn lint(module: &AstModule, source: &Source, role: Role) -> Vec<Diagnostic> {
    let (names, bound) = (role.names(), scope::bound_at_top(module));
    let is_built_in = |ask: &&str| names.contains(*ask) && !bound.iter().any(|name| name == *ask);
    let mut found = Vec::new();
    for ask in ASK.into_iter().filter(is_built_in) {
        module.statement().visit_expr(|expression| visit(expression, ask, &mut found));
    }
    found.retain(|(span, _)| !module.is_suppressed(RULE, *span));
    found.into_iter().map(|(span, mistake)| mistake.problem(span, source)).collect()
}

/// Whether a warning of the type checker is about what this lint finds.
pub(super) fn is_covered(warning: &Diagnostic) -> bool {
    warning.message.contains("`when_unavailable`")
}

enum Mistake {
    Missing { function: &'static str },
    Unknown(String),
}

impl Mistake {
    fn problem(self, span: Span, source: &Source) -> Diagnostic {
        let span = span.begin().get() as usize..span.end().get() as usize;
        let choices = UNAVAILABLE.map(|choice| format!("`\"{choice}\"`")).join(", ");
        let problem = match self {
            Mistake::Missing { function } => Diagnostic::warning(format!(
                "`{function}()` without `{PARAMETER}` fails when a call reaches it"
            ))
            .hint(format!(
                "add `{PARAMETER} = \"reject\"`, which applies if the client cannot ask its user ({choices})"
            )),
            Mistake::Unknown(value) => {
                let near = nearest(&value, UNAVAILABLE).map(|near| format!("did you mean `\"{near}\"`? "));
                Diagnostic::warning(format!("`{PARAMETER}` cannot be \"{value}\""))
                    .hint(format!("{}the choices are {choices}", near.unwrap_or_default()))
            }
        };
        problem.rule(RULE).at(Location::new(&source.name, source.text.clone(), span))
    }
}

fn visit(expression: &AstExpr, ask: &'static str, found: &mut Vec<(Span, Mistake)>) {
    if let Expr::Call(callee, arguments) = &expression.node
        && asks(ask, callee, &arguments.args)
        && let Some(mistake) = mistake(ask, &arguments.args)
    {
        found.push((expression.span, mistake));
    }
    expression.visit_expr(|inner| visit(inner, ask, found));
}

/// Whether a call is `elicit(...)` or `attempt(elicit, ...)`, for the function `ask`.
fn asks(ask: &str, callee: &AstExpr, arguments: &[AstArgument]) -> bool {
    let is_named = |expression: &AstExpr, name: &str| matches!(&expression.node, Expr::Identifier(found) if found.node.ident == name);
    let first = arguments.first().map(|argument| argument.node.expr());
    is_named(callee, ask) || (is_named(callee, "attempt") && first.is_some_and(|first| is_named(first, ask)))
}

fn mistake(function: &'static str, arguments: &[AstArgument]) -> Option<Mistake> {
    let given = arguments.iter().find_map(|argument| match &argument.node {
        Argument::Named(name, value) if name.node == PARAMETER => Some(Some(value)),
        Argument::KwArgs(_) => Some(None),
        _ => None,
    });
    match given {
        None => Some(Mistake::Missing { function }),
        Some(Some(value)) => match &value.node {
            Expr::Literal(AstLiteral::String(text)) if !UNAVAILABLE.contains(&text.node.as_str()) => {
                Some(Mistake::Unknown(text.node.clone()))
            }
            _ => None,
        },
        Some(None) => None,
    }
}
