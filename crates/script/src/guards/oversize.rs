//! Refuses constants that exceed the memory limit of the script, such as `"a" * 2000000000`. The engine folds constants
//! while it compiles, including those of functions that are never called, and cannot be interrupted there.

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{Argument, AstExpr, AstLiteral, BinOp, Expr};

use crate::{Limits, Source};
use proxy_base::diagnostic::{Diagnostic, Location};

/// The size of a reference in a list or tuple.
const REFERENCE: i128 = 8;
/// Functions that build a value from all elements of another.
const COLLECTORS: [&str; 8] = ["list", "tuple", "sorted", "reversed", "set", "dict", "enumerate", "zip"];

pub(crate) fn check(module: &AstModule, source: &Source, limits: &Limits) -> Result<(), Diagnostic> {
    let limit = i128::try_from(limits.memory).unwrap_or(i128::MAX);
    let mut sizes = Sizes { text: &source.text, limit, too_large: None };
    module.statement().visit_expr(|expression| sizes.visit(expression));
    let Some((span, bytes)) = sizes.too_large else { return Ok(()) };
    let message = format!(
        "this constant would take {} MiB; the script's memory limit is {} MiB",
        bytes >> 20,
        limits.memory >> 20
    );
    Err(Diagnostic::error(message).at(Location::new(&source.name, source.text.clone(), range(span))))
}

/// What is known about a value without evaluating it.
#[derive(Clone, Copy)]
enum Known {
    Number(i128),
    /// A string of this many bytes.
    Text(i128),
    /// A list or tuple of this many references.
    Elements(i128),
    /// A range of this many elements, which takes no memory until it is collected.
    Range(i128),
}

struct Sizes<'a> {
    text: &'a str,
    limit: i128,
    /// The position and size of the first constant that is too large.
    too_large: Option<(Span, i128)>,
}

impl Sizes<'_> {
    /// Visits an expression whose value does not matter to the expression around it.
    fn visit(&mut self, expression: &AstExpr) {
        let _ = self.estimate(expression);
    }

    fn estimate(&mut self, expression: &AstExpr) -> Option<Known> {
        let known = match &expression.node {
            Expr::Literal(AstLiteral::Int(_)) => {
                Some(Known::Number(self.text.get(range(expression.span))?.parse().ok()?))
            }
            Expr::Literal(AstLiteral::String(text)) => Some(Known::Text(count(text.node.len()))),
            Expr::List(elements) | Expr::Tuple(elements) => {
                elements.iter().for_each(|element| self.visit(element));
                Some(Known::Elements(count(elements.len())))
            }
            Expr::Minus(inner) => match self.estimate(inner)? {
                Known::Number(number) => Some(Known::Number(-number)),
                _ => None,
            },
            Expr::Op(left, operator, right) => {
                let (left, right) = (self.estimate(left), self.estimate(right));
                combined(left?, *operator, right?)
            }
            Expr::Call(callee, arguments) => {
                let sizes: Vec<Option<Known>> =
                    arguments.args.iter().map(|one| self.estimate(one.node.expr())).collect();
                let positional = arguments.args.iter().all(|one| matches!(one.node, Argument::Positional(_)));
                match &callee.node {
                    Expr::Identifier(name) if positional => call_result(&name.node.ident, &sizes),
                    other => {
                        other.visit_expr(|inner| self.visit(inner));
                        None
                    }
                }
            }
            other => {
                other.visit_expr(|inner| self.visit(inner));
                None
            }
        }?;
        let bytes = match known {
            Known::Text(bytes) => bytes,
            Known::Elements(count) => count.saturating_mul(REFERENCE),
            Known::Number(_) | Known::Range(_) => 0,
        };
        if bytes > self.limit && self.too_large.is_none() {
            self.too_large = Some((expression.span, bytes));
        }
        Some(known)
    }
}

fn combined(left: Known, operator: BinOp, right: Known) -> Option<Known> {
    use Known::{Elements, Number, Text};
    match (left, operator, right) {
        (Number(left), BinOp::Add, Number(right)) => left.checked_add(right).map(Number),
        (Number(left), BinOp::Subtract, Number(right)) => left.checked_sub(right).map(Number),
        (Number(left), BinOp::Multiply, Number(right)) => left.checked_mul(right).map(Number),
        (Text(one), BinOp::Multiply, Number(times)) | (Number(times), BinOp::Multiply, Text(one)) => {
            Some(Text(one.saturating_mul(times.max(0))))
        }
        (Elements(one), BinOp::Multiply, Number(times)) | (Number(times), BinOp::Multiply, Elements(one)) => {
            Some(Elements(one.saturating_mul(times.max(0))))
        }
        (Text(left), BinOp::Add, Text(right)) => Some(Text(left.saturating_add(right))),
        (Elements(left), BinOp::Add, Elements(right)) => Some(Elements(left.saturating_add(right))),
        _ => None,
    }
}

fn call_result(name: &str, arguments: &[Option<Known>]) -> Option<Known> {
    match (name, arguments) {
        ("range", [Some(Known::Number(stop))]) => Some(Known::Range((*stop).max(0))),
        ("range", [Some(Known::Number(start)), Some(Known::Number(stop))]) => {
            Some(Known::Range(stop.saturating_sub(*start).max(0)))
        }
        (name, [Some(Known::Range(count) | Known::Elements(count)), ..]) if COLLECTORS.contains(&name) => {
            Some(Known::Elements(*count))
        }
        _ => None,
    }
}

fn count(length: usize) -> i128 {
    i128::try_from(length).unwrap_or(i128::MAX)
}

fn range(span: Span) -> std::ops::Range<usize> {
    span.begin().get() as usize..span.end().get() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loading::parse::parse;

    fn refusal(text: &str) -> Option<String> {
        let source = Source::new("large.star", text);
        let module = parse(&source).unwrap_or_else(|problem| panic!("{problem}"));
        check(&module, &source, &Limits::SESSION_SCRIPT).err().map(|diagnostic| diagnostic.to_string())
    }

    #[test]
    fn a_constant_larger_than_the_memory_is_refused_wherever_it_stands() {
        for text in [
            "x = \"a\" * 2000000000",
            "x = 2000000000 * \"a\"",
            "x = [0] * 2000000000",
            "x = list(range(1000000000))",
            "x = sorted(range(1, 1000 * 1000 * 1000))",
            "x = tuple([0] * 100000000)",
            "def never_called():\n    return [\"abc\" * 100000000]",
            "f = lambda: len((\"ab\" + \"c\") * 100000000)",
            "x = \",\".join([\"a\"] * 1000000000)",
            "x = [y for y in list(range(1000000000))]",
            "for x in {\"a\": list(range(1000000000))}:\n    pass",
        ] {
            let refusal = refusal(text).unwrap_or_else(|| panic!("accepted: {text}"));
            assert!(refusal.contains("the script's memory limit is 256 MiB"), "{refusal}");
            assert!(refusal.contains("large.star:"), "{refusal}");
        }
    }

    #[test]
    fn what_fits_is_left_alone() {
        for text in [
            "x = \"a\" * 1000",
            "for i in range(1000000000):\n    break",
            "x = len(range(1000000000))",
            "x = \"a\" * -2000000000",
            "x = list(range(1000000000, 5))",
            "x = 1000000000 * 1000000000",
            "x = f(range(1000000000))",
            "x = sorted([3, 1], key = lambda y: -y)",
        ] {
            assert_eq!(refusal(text), None, "{text}");
        }
    }
}
