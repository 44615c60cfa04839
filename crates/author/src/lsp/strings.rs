//! Determines what kind of string is expected at the cursor: a server, a tool, a file and so on.

use starlark::syntax::ast::{AstExpr, AstStmt, BinOp, Expr, Stmt};

use super::tree::Cursor;
use proxy_model::ItemKind;
use proxy_script::{Holds, literal};

#[derive(Debug, PartialEq)]
pub(super) enum Expected {
    Server,
    /// The name or URI of an item of this server, or of any.
    Items(ItemKind, Option<String>),
    /// The name of an argument of a tool.
    Arguments {
        server: Option<String>,
        tool: Option<String>,
    },
}

/// What the string can be, if what is around it tells.
pub(super) fn expected(cursor: &Cursor) -> Option<Expected> {
    let around = cursor.around();
    let string = around.first()?;
    let parent = around.get(1)?;
    let grandparent = around.get(2).map(|expression| &expression.node);
    literal(string)?;
    match (&parent.node, grandparent) {
        // `backends()["`
        (Expr::Index(parts), _) => server_of(&parts.0, cursor),
        // `backends().get("`
        (Expr::Call(callee, _), _) => match &callee.node {
            Expr::Dot(owner, method) if method.node == "get" => server_of(owner, cursor),
            _ => None,
        },
        // `meta.name == "`, `meta.name in ["a", "`
        (Expr::Op(left, BinOp::Equal | BinOp::NotEqual, _), _) => compared(left, cursor),
        (Expr::List(_) | Expr::Tuple(_), Some(Expr::Op(left, BinOp::In | BinOp::NotIn, _))) => compared(left, cursor),
        // `call({"`, `call({"a": 1, "`
        (Expr::Dict(entries), Some(Expr::Call(callee, _))) if entries.iter().any(|(key, _)| cursor.is_in(key.span)) => {
            match cursor.holds(callee)? {
                Holds::Handler(ItemKind::Tool, server) => {
                    let tool = tool_around(cursor.module.statement(), cursor);
                    Some(Expected::Arguments { server, tool })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn server_of(owner: &AstExpr, cursor: &Cursor) -> Option<Expected> {
    (cursor.holds(owner)? == Holds::Backends).then_some(Expected::Server)
}

fn compared(left: &AstExpr, cursor: &Cursor) -> Option<Expected> {
    let Expr::Dot(owner, member) = &left.node else { return None };
    if !["name", "original_name", "uri", "uri_template"].contains(&member.node.as_str()) {
        return None;
    }
    match cursor.holds(owner)? {
        Holds::Metadata(kind, server) => Some(Expected::Items(kind, server)),
        Holds::Backend(_) => Some(Expected::Server),
        _ => None,
    }
}

/// The name in the innermost `if meta.name == "...":` around the cursor.
fn tool_around(statement: &AstStmt, cursor: &Cursor) -> Option<String> {
    let mut found = None;
    statement.node.visit_stmt(|inner| found = found.take().or_else(|| tool_around(inner, cursor)));
    let (condition, block) = match &statement.node {
        Stmt::If(condition, block) => (condition, &**block),
        Stmt::IfElse(condition, blocks) => (condition, &blocks.0),
        _ => return found,
    };
    if found.is_none() && cursor.is_in(block.span) { name_in(condition) } else { found }
}

fn name_in(condition: &AstExpr) -> Option<String> {
    if let Expr::Op(left, BinOp::Equal, right) = &condition.node
        && matches!(&left.node, Expr::Dot(_, member) if member.node == "name")
    {
        return literal(right);
    }
    let mut found = None;
    condition.node.visit_expr(|inner| found = found.take().or_else(|| name_in(inner)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_around_a_string_tells_what_it_can_be() {
        let one = || Some("one".to_owned());
        let each = "for meta, call in backends()['one'].tools():\n";
        for (text, found) in [
            ("b = backends()[", Some(Expected::Server)),
            ("all = backends()\nall.get(", Some(Expected::Server)),
            ("EACH    if meta.name == ", Some(Expected::Items(ItemKind::Tool, one()))),
            ("EACH    if meta.name not in [\"a\", ", Some(Expected::Items(ItemKind::Tool, one()))),
            (
                "for m, _ in backends()['one'].prompts():\n    if m.name != ",
                Some(Expected::Items(ItemKind::Prompt, one())),
            ),
            ("EACH    x = call({", Some(Expected::Arguments { server: one(), tool: None })),
            (
                "EACH    if meta.name == 'echo':\n        x = call({\"a\": 1, ",
                Some(Expected::Arguments { server: one(), tool: Some("echo".to_owned()) }),
            ),
            ("EACH    x = call({\"a\": ", None),
            ("x = {", None),
            ("print(", None),
        ] {
            let text = format!("{}\"", text.replace("EACH", each));
            let cursor = Cursor::new(&text, text.len()).expect(&text);
            assert_eq!(expected(&cursor), found, "{text}");
        }
    }
}
