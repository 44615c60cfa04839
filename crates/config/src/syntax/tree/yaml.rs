//! Parser for YAML. It uses the events of the YAML parser, which include positions and duplicate keys.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput, Tag};

use super::lines::LineIndex;
use super::scalar::plain;
use super::{MAX_DEPTH, Node, NodeKey, Span, SyntaxError, Value, yaml_cure};

/// Maximum number of values after the expansion of aliases, which could otherwise make a small file huge.
const MAX_NODES: usize = 100_000;

pub(super) fn parse(text: &str) -> Result<Node, SyntaxError> {
    YamlBuilder {
        parser: Parser::new_from_str(text),
        lines: LineIndex::of(text),
        text,
        anchors: HashMap::new(),
        nodes: 0,
        depth: 0,
    }
    .document()
}

struct YamlBuilder<'a> {
    parser: Parser<'a, StrInput<'a>>,
    lines: LineIndex<'a>,
    text: &'a str,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    depth: usize,
}

impl<'a> YamlBuilder<'a> {
    fn document(mut self) -> Result<Node, SyntaxError> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                Event::DocumentStart(_) if root.is_some() => {
                    return Err(SyntaxError::new("a config file must contain only one YAML document", span));
                }
                Event::DocumentStart(_) => {
                    let (event, span) = self.next()?;
                    root = Some(self.node(event, span)?);
                }
                _ => return Ok(root.unwrap_or(Node { value: Value::Null, span: 0..0 })),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), SyntaxError> {
        match self.parser.next_event() {
            None => Ok((Event::StreamEnd, self.text.len()..self.text.len())),
            Some(Ok((event, span))) => {
                let start = self.lines.offset(span.start.line(), span.start.col());
                let end = self.lines.offset(span.end.line(), span.end.col()).max(start);
                // The span of a quoted key extends to the colon.
                Ok((event, start..start + self.text[start..end].trim_end().len()))
            }
            Some(Err(error)) => {
                let offset = self.lines.offset(error.marker().line(), error.marker().col());
                // An error at the end of the file is shown behind the last word.
                let offset = offset.min(self.text.trim_end().len());
                let end = offset + self.text[offset..].chars().next().map_or(0, char::len_utf8);
                Err(yaml_cure::explained(self.text, error.info(), offset..end))
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<Node, SyntaxError> {
        if let Event::Alias(anchor) = event {
            return self.alias(anchor, span);
        }
        self.count(1, &span)?;
        let (value, end, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => (scalar(&text, style, tag.as_deref(), &span)?, span.end, anchor),
            Event::SequenceStart(anchor, tag) => {
                refuse_tag(tag.as_deref(), &span)?;
                let (items, end) = self.nested(&span, Self::items)?;
                (Value::List(items), end, anchor)
            }
            Event::MappingStart(anchor, tag) => {
                refuse_tag(tag.as_deref(), &span)?;
                let (entries, end) = self.nested(&span, Self::entries)?;
                (Value::Map(entries), end, anchor)
            }
            _ => return Err(SyntaxError::new("invalid YAML: a value is missing", span)),
        };
        let node = Node { value, span: span.start..end.max(span.end) };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn nested<T>(
        &mut self,
        span: &Span,
        read: impl FnOnce(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<T, SyntaxError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(SyntaxError::new("nesting is too deep", span.clone()));
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn items(&mut self) -> Result<(Vec<Node>, usize), SyntaxError> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                let end = end_of(&span, items.last());
                return Ok((items, end));
            }
            items.push(self.node(event, span)?);
        }
    }

    fn entries(&mut self) -> Result<(Vec<(NodeKey, Node)>, usize), SyntaxError> {
        let mut entries: Vec<(NodeKey, Node)> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                let end = end_of(&span, entries.last().map(|(_, node)| node));
                return Ok((entries, end));
            }
            let key = key(event, span)?;
            let (event, span) = self.next()?;
            entries.push((key, self.node(event, span)?));
        }
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<Node, SyntaxError> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            return Err(SyntaxError::new("a YAML alias must not occur inside its own anchor", span));
        };
        self.count(size(&node), &span)?;
        Ok(node)
    }

    fn count(&mut self, nodes: usize, span: &Span) -> Result<(), SyntaxError> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            return Err(SyntaxError::new(format!("the file has more than {MAX_NODES} values"), span.clone()));
        }
        Ok(())
    }
}

/// The end of a list or map. For block style the parser reports the begin of the next token, so the end of the last
/// value is used.
fn end_of(closing: &Span, last: Option<&Node>) -> usize {
    if closing.is_empty() { last.map_or(0, |node| node.span.end) } else { closing.end }
}

fn size(node: &Node) -> usize {
    1 + match &node.value {
        Value::List(items) => items.iter().map(size).sum(),
        Value::Map(entries) => entries.iter().map(|(_, node)| size(node)).sum(),
        _ => 0,
    }
}

fn key(event: Event<'_>, span: Span) -> Result<NodeKey, SyntaxError> {
    match event {
        Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<" => {
            Err(SyntaxError::new("merge keys (`<<`) are not supported: write the keys out", span))
        }
        Event::Scalar(text, ..) => Ok(NodeKey { text: text.into_owned(), span }),
        _ => Err(SyntaxError::new("a key must be a string", span)
            .hint("quote the value if it is meant as text: `{` and `[` start a map and a list")),
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, span: &Span) -> Result<Value, SyntaxError> {
    if tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str") {
        return Ok(Value::String(text.to_owned()));
    }
    refuse_tag(tag, span)?;
    Ok(match style {
        ScalarStyle::Plain => plain(text),
        ScalarStyle::Literal => Value::Block(text.to_owned()),
        _ => Value::String(text.to_owned()),
    })
}

fn refuse_tag(tag: Option<&Tag>, span: &Span) -> Result<(), SyntaxError> {
    match tag {
        Some(tag) if !tag.is_yaml_core_schema() => {
            Err(SyntaxError::new("YAML tags (`!name`) are not supported here", span.clone())
                .hint("quote the value if it is meant as text"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'a>(text: &'a str, node: &Node) -> &'a str {
        &text[node.span.clone()]
    }

    #[test]
    fn every_value_knows_its_place_also_after_a_comment_that_is_not_ascii() {
        let text = "# é\na: 1 # ünï\nb:\n  - x\n  - {c: 'd'}\nlast: |\n\n  one\n  two\n";
        let root = parse(text).unwrap();
        assert_eq!(at(text, root.get("a").unwrap()), "1");
        assert_eq!(at(text, root.get("b").unwrap()), "- x\n  - {c: 'd'}");
        assert_eq!(at(text, root.get("last").unwrap()), "one\n  two");
        assert_eq!(root.get("last").unwrap().value, Value::Block("\none\ntwo\n".to_owned()));
    }

    #[test]
    fn an_alias_stands_for_its_value() {
        let root = parse("a: &it [1]\nb: *it\n").unwrap();
        assert_eq!(root.get("a"), root.get("b"));
    }

    #[test]
    fn what_is_not_supported_says_so() {
        assert!(parse("a: {<<: {b: 1}}").unwrap_err().message.contains("merge keys"));
        assert!(parse("a: !secret x").unwrap_err().message.contains("tags"));
        assert!(parse("a: 1\n---\nb: 2\n").unwrap_err().message.contains("only one YAML document"));
        assert!(parse("? [a]\n: 1\n").unwrap_err().message.contains("a key must be a string"));
    }

    #[test]
    fn aliases_of_aliases_do_not_fill_the_memory() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..9 {
            let previous = format!("*a{}, ", level - 1).repeat(10);
            text.push_str(&format!("a{level}: &a{level} [{previous}]\n"));
        }
        assert!(parse(&text).unwrap_err().message.contains("more than 100000 values"));
    }

    #[test]
    fn a_syntax_error_has_a_place() {
        let error = parse("serve:\n  http: [1\n").unwrap_err();
        assert!(error.message.starts_with("invalid YAML"), "{}", error.message);
        assert!(error.span.start >= 9, "{error:?}");
    }
}
