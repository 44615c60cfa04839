//! What an expression is, as far as its text tells: whether it is a server, a list of its tools, or one of them. Works on
//! the text alone, because a file that is being edited seldom parses.

use super::syntax::{balanced, expression_before, is_name_part};
use proxy_model::ItemKind;

/// How many names are followed to their assignments.
const MAX_STEPS: usize = 16;

/// A value of the proxy. Servers are named if the text names them.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Inferred {
    /// `backends()`
    Backends,
    Backend(Option<String>),
    List(Box<Inferred>),
    /// The metadata and the handler of an item; the name and the value of an entry.
    Pair(Box<Inferred>, Box<Inferred>),
    Metadata(ItemKind, Option<String>),
    Handler(ItemKind, Option<String>),
    SearchIndex,
    Text,
}

impl Inferred {
    /// The expression that ends at `end`, such as the one in front of a dot.
    pub(super) fn before(text: &str, end: usize) -> Option<Inferred> {
        let expression = expression_before(text, end);
        Inferred::of(expression, text, end - expression.len(), MAX_STEPS)
    }

    /// The name of the type in the reference.
    pub(super) fn type_name(&self) -> Option<&'static str> {
        match self {
            Inferred::Backend(_) => Some("Backend"),
            Inferred::Metadata(..) => Some("metadata"),
            Inferred::SearchIndex => Some("search_index"),
            _ => None,
        }
    }

    fn of(expression: &str, text: &str, at: usize, steps: usize) -> Option<Inferred> {
        let steps = steps.checked_sub(1)?;
        let expression = expression.trim();
        let name = &expression[..name_length(expression)];
        let mut rest = &expression[name.len()..];
        let mut found = if let Some((inside, after)) = balanced(rest).filter(|_| rest.starts_with('(')) {
            rest = after;
            Inferred::returned_by(name, inside, text, at, steps)?
        } else {
            bound(name, text, at, steps)?
        };
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return Some(found);
            } else if rest.starts_with('[') {
                let (inside, after) = balanced(rest)?;
                found = found.item(inside)?;
                rest = after;
            } else {
                rest = rest.strip_prefix('.')?;
                let member = &rest[..name_length(rest)];
                rest = &rest[member.len()..];
                let called = balanced(rest).filter(|_| rest.starts_with('('));
                found = found.member(member, called.map(|(inside, _)| inside))?;
                rest = called.map_or(rest, |(_, after)| after);
            }
        }
    }

    fn returned_by(function: &str, inside: &str, text: &str, at: usize, steps: usize) -> Option<Inferred> {
        match function {
            "backends" => Some(Inferred::Backends),
            "metadata" => Some(Inferred::Metadata(ItemKind::Tool, None)),
            "resource_metadata" => Some(Inferred::Metadata(ItemKind::Resource, None)),
            "resource_template_metadata" => Some(Inferred::Metadata(ItemKind::ResourceTemplate, None)),
            "prompt_metadata" => Some(Inferred::Metadata(ItemKind::Prompt, None)),
            "search_index" => Some(Inferred::SearchIndex),
            // Functions of the library.
            "aggregate" | "visible" | "read_only" | "approved" | "optimized" => {
                Some(Inferred::items(ItemKind::Tool, None))
            }
            "aggregate_prompts" => Some(Inferred::items(ItemKind::Prompt, None)),
            "aggregate_resources" => Some(Inferred::items(ItemKind::Resource, None)),
            "list" | "sorted" | "reversed" => Inferred::of(inside, text, at, steps),
            _ => None,
        }
    }

    /// A list of `(metadata, handler)` tuples.
    fn items(kind: ItemKind, server: Option<String>) -> Inferred {
        let (metadata, handler) = (Inferred::Metadata(kind, server.clone()), Inferred::Handler(kind, server));
        Inferred::List(Box::new(Inferred::Pair(Box::new(metadata), Box::new(handler))))
    }

    /// `self[index]`
    fn item(self, index: &str) -> Option<Inferred> {
        match (self, index.trim()) {
            (Inferred::Backends, key) => Some(Inferred::Backend(literal(key))),
            (Inferred::List(item), _) => Some(*item),
            (Inferred::Pair(first, _), "0") => Some(*first),
            (Inferred::Pair(_, second), "1" | "-1") => Some(*second),
            _ => None,
        }
    }

    /// `self.name`, or `self.name(arguments)`.
    fn member(self, name: &str, arguments: Option<&str>) -> Option<Inferred> {
        let backend = || Inferred::Backend(None);
        match (self, name, arguments) {
            (Inferred::Backends, "get", Some(key)) => Some(Inferred::Backend(literal(key))),
            (Inferred::Backends, "values", Some(_)) => Some(Inferred::List(Box::new(backend()))),
            (Inferred::Backends, "keys", Some(_)) => Some(Inferred::List(Box::new(Inferred::Text))),
            (Inferred::Backends, "items", Some(_)) => {
                let entry = Inferred::Pair(Box::new(Inferred::Text), Box::new(backend()));
                Some(Inferred::List(Box::new(entry)))
            }
            (Inferred::Backend(server), "tools", Some(_)) => Some(Inferred::items(ItemKind::Tool, server)),
            (Inferred::Backend(server), "prompts", Some(_)) => Some(Inferred::items(ItemKind::Prompt, server)),
            (Inferred::Backend(server), "resources", Some(_)) => Some(Inferred::items(ItemKind::Resource, server)),
            (Inferred::Backend(server), "resource_templates", Some(_)) => {
                Some(Inferred::items(ItemKind::ResourceTemplate, server))
            }
            (changed @ Inferred::Metadata(..), "replace", Some(_)) => Some(changed),
            (Inferred::Metadata(..) | Inferred::Backend(_), _, None) => Some(Inferred::Text),
            _ => None,
        }
    }
}

/// What a name is bound to: the nearest assignment or loop that is above it or on its line.
fn bound(name: &str, text: &str, at: usize, steps: usize) -> Option<Inferred> {
    if name.is_empty() {
        return None;
    }
    let mut end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    loop {
        let start = text[..end].rfind('\n').map_or(0, |newline| newline + 1);
        let line = &text[start..end];
        let code = line.split(" #").next().unwrap_or_default();
        // The value of an assignment is looked up above it, that of a loop on the line too.
        if let Some(value) = assigned(name, code) {
            return Inferred::of(value, text, start.saturating_sub(1), steps);
        }
        if let Some(found) = looped(name, code, text, start, steps) {
            return found;
        }
        if start == 0 {
            return None;
        }
        end = start - 1;
    }
}

/// The value in `name = value`.
fn assigned<'a>(name: &str, code: &'a str) -> Option<&'a str> {
    let value = code.trim_start().strip_prefix(name)?.trim_start().strip_prefix('=')?;
    (!value.starts_with('=')).then(|| value.trim())
}

/// What `name` is in `for name in ...`, of a statement or a comprehension; `None` if the line has no such loop. The search
/// ends at the loop even if it is not known what it runs over: otherwise each such line would search all lines above it.
fn looped(name: &str, code: &str, text: &str, start: usize, steps: usize) -> Option<Option<Inferred>> {
    code.match_indices("for ").find_map(|(position, _)| {
        let (targets, over) = code[position + "for ".len()..].split_once(" in ")?;
        let targets: Vec<&str> = targets.split(',').map(|target| target.trim_matches([' ', '(', ')'])).collect();
        let index = targets.iter().position(|target| *target == name)?;
        let over = Inferred::of(&over[..over_length(over)], text, start.saturating_sub(1), steps);
        Some(over.and_then(|over| loop_variable(over, index, targets.len())))
    })
}

/// What a variable of a loop over something is.
fn loop_variable(over: Inferred, index: usize, count: usize) -> Option<Inferred> {
    let item = match over {
        Inferred::List(item) => *item,
        Inferred::Backends => Inferred::Text,
        _ => return None,
    };
    match (count, item) {
        (1, item) => Some(item),
        (2, pair @ Inferred::Pair(..)) => pair.item(if index == 0 { "0" } else { "1" }),
        _ => None,
    }
}

/// The length of the expression that a loop runs over: up to the colon, the closing bracket or the condition.
fn over_length(over: &str) -> usize {
    let mut depth = 0;
    for (index, character) in over.char_indices() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return index,
            ')' | ']' | '}' => depth -= 1,
            ':' if depth == 0 => return index,
            ' ' if depth == 0 && over[index..].starts_with(" if ") => return index,
            _ => {}
        }
    }
    over.len()
}

/// The content of a string literal, or of the first of several arguments.
fn literal(text: &str) -> Option<String> {
    let text = text.trim();
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    text[1..].split(quote).next().map(str::to_owned)
}

fn name_length(text: &str) -> usize {
    text.find(|character: char| !is_name_part(character)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_end(text: &str) -> Option<Inferred> {
        Inferred::before(text, text.len())
    }

    #[test]
    fn loops_over_their_own_variable_are_searched_once() {
        // Each line would double the time.
        assert_eq!(at_end(&("for x in x.y:\n".repeat(2000) + "x")), None);
    }

    #[test]
    fn what_an_expression_is() {
        let one = || Some("one".to_owned());
        let tool = Inferred::Metadata(ItemKind::Tool, one());
        for (text, expected) in [
            ("x = backends()", Some(Inferred::Backends)),
            ("backends()[\"one\"]", Some(Inferred::Backend(one()))),
            ("print(backends().get('one', None)", Some(Inferred::Backend(one()))),
            ("b = backends()[\"one\"]\n\nb", Some(Inferred::Backend(one()))),
            ("all = backends()\nb = all[name]\nb", Some(Inferred::Backend(None))),
            ("for name, b in backends().items():\n    b", Some(Inferred::Backend(None))),
            ("for meta, call in backends()[\"one\"].tools():\n    if meta", Some(tool.clone())),
            (
                "b = backends()['one']\nfor meta, call in b.tools(): # all\n    call",
                Some(Inferred::Handler(ItemKind::Tool, one())),
            ),
            ("x = [m for m, c in backends()['one'].tools() if m", Some(tool.clone())),
            ("tool = backends()['one'].tools()[0]\ntool[0].replace(name = 'x')", Some(tool)),
            ("index = search_index(aggregate(backends()))\nindex", Some(Inferred::SearchIndex)),
            ("x = x\nx", None),
            ("def f(meta):\n    meta", None),
            ("nothing()", None),
        ] {
            assert_eq!(at_end(text), expected, "{text}");
        }
    }
}
