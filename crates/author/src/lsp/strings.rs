//! What a string literal is expected to be, from the text in front of it.

use super::infer::Inferred;
use super::syntax::open_brackets;
use proxy_model::ItemKind;

/// How many lines above a call are searched for the name of its tool.
const LINES_ABOVE: usize = 20;

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

/// What a string at the end of a text can be, if the text tells.
pub(super) fn expected(before: &str) -> Option<Expected> {
    let trimmed = before.trim_end();
    index_of_backends(trimmed).or_else(|| compared(trimmed)).or_else(|| argument(trimmed))
}

/// `backends()["` and `backends().get("`
fn index_of_backends(before: &str) -> Option<Expected> {
    let owner = before.strip_suffix('[').or_else(|| before.strip_suffix(".get("))?;
    (Inferred::before(owner, owner.len())? == Inferred::Backends).then_some(Expected::Server)
}

/// `meta.name == "`, `meta.name in ["a", "`
fn compared(before: &str) -> Option<Expected> {
    let in_list = || {
        let open = open_brackets(before).pop().filter(|open| matches!(open.bracket, '[' | '('))?;
        before[..open.offset].trim_end().strip_suffix(" in").map(|left| left.trim_end().trim_end_matches(" not"))
    };
    let left = before.strip_suffix("==").or_else(|| before.strip_suffix("!=")).or_else(in_list)?.trim_end();
    let owner =
        [".name", ".original_name", ".uri", ".uri_template"].iter().find_map(|member| left.strip_suffix(member))?;
    match Inferred::before(owner, owner.len())? {
        Inferred::Metadata(kind, server) => Some(Expected::Items(kind, server)),
        Inferred::Backend(_) => Some(Expected::Server),
        _ => None,
    }
}

/// `call({"`, `call({"a": 1, "`
fn argument(before: &str) -> Option<Expected> {
    if !before.ends_with(['{', ',']) {
        return None;
    }
    let mut open = open_brackets(before);
    let dict = open.pop().filter(|open| open.bracket == '{')?;
    let call =
        open.pop().filter(|open| open.bracket == '(' && before[open.offset + 1..dict.offset].trim().is_empty())?;
    let Inferred::Handler(ItemKind::Tool, server) = Inferred::before(before, call.offset)? else { return None };
    let above = before.lines().rev().take(LINES_ABOVE).take_while(|line| !line.trim_start().starts_with("for "));
    let tool = above.filter_map(|line| line.split_once(".name == ")).find_map(|(_, right)| quoted(right));
    Some(Expected::Arguments { server, tool })
}

fn quoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    Some(text[1..].split_once(quote)?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_front_of_a_string_tells_what_it_can_be() {
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
            ("x = {", None),
            ("print(", None),
        ] {
            assert_eq!(expected(&text.replace("EACH", each)), found, "{text}");
        }
    }
}
