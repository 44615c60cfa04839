//! Parses text that is being edited and therefore often has syntax errors. Top-level statements that do not parse are
//! left out, and the statement at the cursor is completed. Offsets refer to the original text.

use starlark::codemap::{Pos, Span};
use starlark::syntax::AstModule;
use starlark::syntax::ast::{AstExpr, Expr};

use super::syntax::open_at_end;
use proxy_script::{Holds, Names, Source, parse_unguarded};

/// What may be missing behind a name or a string that is being typed: the name itself, the value of a dict, the other
/// branch of a condition.
const MISSING: [&str; 6] = ["_", "", ": 0", "_: 0", " else 0", "_ else 0"];

/// The tree of the statements that parse.
pub(super) fn tree(text: &str) -> Option<AstModule> {
    parsed(text).or_else(|| parsed(&what_parses(&statements(text))))
}

/// The text in front of the cursor.
pub(super) struct Cursor {
    pub module: AstModule,
    offset: u32,
}

impl Cursor {
    pub(super) fn new(text: &str, offset: usize) -> Option<Self> {
        let before = statements(&text[..offset]);
        let (last, others) = before.split_last()?;
        let completed = completed(last).or_else(|| {
            // Something above the line is wrong, too.
            let line = last.rsplit('\n').next().unwrap_or_default().trim_start();
            completed(&format!("{}{line}", "\n".repeat(last.len() - line.len())))
        });
        let module = parsed(&(what_parses(others) + &completed?))?;
        Some(Cursor { module, offset: u32::try_from(offset).ok()? })
    }

    /// The expressions around the cursor, innermost first.
    pub(super) fn around(&self) -> Vec<&AstExpr> {
        fn enter<'a>(expression: &'a AstExpr, cursor: &Cursor, found: &mut Vec<&'a AstExpr>) {
            if cursor.is_in(expression.span) {
                expression.node.visit_expr(|inner| enter(inner, cursor, found));
                found.push(expression);
            }
        }
        let mut found = Vec::new();
        self.module.statement().visit_expr(|expression| enter(expression, self, &mut found));
        found
    }

    pub(super) fn is_in(&self, span: Span) -> bool {
        span.contains(Pos::new(self.offset))
    }

    pub(super) fn holds(&self, expression: &AstExpr) -> Option<Holds> {
        Names::at(&self.module, self.offset).holds(expression)
    }

    /// What is in front of the dot.
    pub(super) fn owner(&self) -> Option<Holds> {
        match &self.around().first()?.node {
            Expr::Dot(owner, _) => self.holds(owner),
            _ => None,
        }
    }
}

fn parsed(text: &str) -> Option<AstModule> {
    parse_unguarded(&Source::new("", text)).ok()
}

/// The statements with empty lines for those that do not parse.
fn what_parses(statements: &[&str]) -> String {
    let kept = |text: &&str| if parsed(text).is_some() { (*text).to_owned() } else { "\n".repeat(text.len()) };
    statements.iter().map(kept).collect()
}

/// The statements at the top level. An open bracket does not join them, so that it does not swallow the rest of the file.
fn statements(text: &str) -> Vec<&str> {
    let mut starts = vec![0];
    let mut offset = 0;
    let mut in_string = false;
    for line in text.split_inclusive('\n') {
        let continues = line.starts_with([' ', '\t', '\r', '\n', ')', ']', '}'])
            || ["elif", "else"].iter().any(|word| line.starts_with(word));
        if offset > 0 && !in_string && !continues {
            starts.push(offset);
        }
        in_string ^= ["\"\"\"", "'''"].iter().map(|quotes| line.matches(quotes).count()).sum::<usize>() % 2 == 1;
        offset += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
}

/// A statement that ends at the cursor, with its closing quotes and brackets and whatever else makes it parse.
fn completed(text: &str) -> Option<String> {
    let open = open_at_end(text);
    let quotes = open.string.map_or("", |(_, quotes)| quotes);
    let closing: String = open.brackets.iter().rev().collect();
    let candidates = MISSING
        .iter()
        .flat_map(|missing| ["", ": pass"].map(|block| format!("{text}{quotes}{missing}{closing}{block}")));
    candidates.into_iter().find(|candidate| parsed(candidate).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsp::definitions::definitions;
    use proxy_model::ItemKind;

    fn before_dot(text: &str) -> Option<Holds> {
        let text = format!("{text}.");
        Cursor::new(&text, text.len()).expect(&text).owner()
    }

    #[test]
    fn many_loops_over_their_own_variable() {
        assert_eq!(before_dot(&("for x in x.y:\n    pass\n".repeat(2000) + "x")), None);
    }

    #[test]
    fn what_an_expression_is() {
        let one = || Some("one".to_owned());
        let tool = Holds::Metadata(ItemKind::Tool, one());
        for (text, expected) in [
            ("x = backends()", Some(Holds::Backends)),
            ("backends()[\"one\"]", Some(Holds::Backend(one()))),
            ("print(backends().get('one', None)", Some(Holds::Backend(one()))),
            ("b = backends()[\"one\"]\n\nb", Some(Holds::Backend(one()))),
            ("all = backends()\nb = all[name]\nb", Some(Holds::Backend(None))),
            ("b = backends()['two']\nb = backends()['one']\ndef f(a):\n    b", Some(Holds::Backend(one()))),
            ("for name, b in backends().items():\n    b", Some(Holds::Backend(None))),
            ("for meta, call in backends()[\"one\"].tools():\n    if meta", Some(tool.clone())),
            (
                "b = backends()['one']\nfor meta, call in b.tools(): # all\n    call",
                Some(Holds::Handler(ItemKind::Tool, one())),
            ),
            ("x = [m for m, c in backends()['one'].tools() if m", Some(tool.clone())),
            ("tool = backends()['one'].tools()[0]\ntool[0].replace(name = 'x')", Some(tool)),
            ("index = search_index(aggregate(backends()))\nindex", Some(Holds::SearchIndex)),
            ("x = x\nx", None),
            ("def f(meta):\n    meta", None),
            ("nothing()", None),
        ] {
            assert_eq!(before_dot(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_elsewhere_does_no_harm() {
        let text = "b = backends()\nx = (\ndef f():\n    '''\nIt's.\n'''\n    y = = 1\n    b";
        assert_eq!(before_dot(text), Some(Holds::Backends));
        let kept = tree("x = (\ndef f():\n    '''\nIt's.\n'''\n    return 1\n\ny = [").expect("the function parses");
        assert_eq!(definitions(&kept).iter().map(|defined| defined.name).collect::<Vec<_>>(), ["f"]);
    }
}
