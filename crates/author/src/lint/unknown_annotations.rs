//! The lint `unknown-annotation`: keys of a tool's annotations that MCP does not define. Clients and policies ignore
//! them, so a misspelt `readOnlyHint` silently has no effect.

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{Argument, AstArgument, AstExpr, AstLiteral, Expr};

use super::{Role, scope};
use proxy_base::diagnostic::{Diagnostic, Location, nearest};
use proxy_script::Source;

const RULE: &str = "unknown-annotation";
const KNOWN: [&str; 5] = ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/// The built-ins that describe a tool, with the position of `annotations` if it has a usual one.
const DESCRIBE_TOOLS: [(&str, Option<usize>); 2] = [("Tool", None), ("metadata", Some(3))];

pub(super) fn lint(module: &AstModule, source: &Source, role: Role) -> Vec<Diagnostic> {
    let own = scope::bound_at_top(module);
    let is_built_in = |name: &str| role.names().contains(name) && !own.iter().any(|own| own == name);
    let describe_tools = DESCRIBE_TOOLS.into_iter().filter(|(name, _)| is_built_in(name)).collect();
    let mut search = Search { describe_tools, found: Vec::new() };
    module.statement().visit_expr(|expression| search.visit(expression));
    let mut found = search.found;
    found.retain(|(span, _)| !module.is_suppressed(RULE, *span));
    found.into_iter().map(|(span, key)| problem(&key, span, source)).collect()
}

struct Search {
    describe_tools: Vec<(&'static str, Option<usize>)>,
    found: Vec<(Span, String)>,
}

impl Search {
    fn visit(&mut self, expression: &AstExpr) {
        if let Expr::Call(callee, arguments) = &expression.node
            && let Some(annotations) = self.annotations(callee, &arguments.args)
            && let Expr::Dict(entries) = &annotations.node
        {
            for (key, _) in entries {
                if let Expr::Literal(AstLiteral::String(text)) = &key.node
                    && !KNOWN.contains(&text.node.as_str())
                {
                    self.found.push((key.span, text.node.clone()));
                }
            }
        }
        expression.visit_expr(|inner| self.visit(inner));
    }

    /// The annotations in a call that describes a tool.
    fn annotations<'a>(&self, callee: &AstExpr, arguments: &'a [AstArgument]) -> Option<&'a AstExpr> {
        let Expr::Identifier(name) = &callee.node else { return None };
        let (_, position) = self.describe_tools.iter().find(|(known, _)| name.node.ident == *known)?;
        let named = arguments.iter().find_map(|argument| match &argument.node {
            Argument::Named(name, value) if name.node == "annotations" => Some(value),
            _ => None,
        });
        named.or_else(|| match &arguments.get((*position)?)?.node {
            Argument::Positional(value) => Some(value),
            _ => None,
        })
    }
}

fn problem(key: &str, span: Span, source: &Source) -> Diagnostic {
    let span = span.begin().get() as usize..span.end().get() as usize;
    let meant = meant(key).map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
    Diagnostic::warning(format!("MCP has no tool annotation `{key}`: clients and policies ignore it"))
        .hint(format!("{meant}The annotations are {}", KNOWN.join(", ")))
        .rule(RULE)
        .at(Location::new(&source.name, source.text.clone(), span))
}

/// `readonly`, `read_only` and `readOnly` mean `readOnlyHint`.
fn meant(key: &str) -> Option<&'static str> {
    let plain = key.replace(['_', '-'], "").to_lowercase();
    let begins = |known: &&str| !plain.is_empty() && known.to_lowercase().starts_with(&plain);
    KNOWN.into_iter().find(begins).or_else(|| nearest(key, KNOWN))
}
