//! Explains errors of the YAML parser: what to change, and where, if the cause is before the place that the parser names.

use super::{Span, SyntaxError};

/// The error of the parser with a hint. `info` is the parser's message, `span` the character at which it gave up.
pub(super) fn explained(text: &str, info: &str, span: Span) -> SyntaxError {
    let at = &text[span.start..];
    let line = Line::at(text, span.start);
    let plain = |hint: &str| SyntaxError::new(format!("invalid YAML: {info}"), span.clone()).hint(hint);
    if let Some(character) = at.chars().next().filter(|_| info.starts_with("unexpected character")) {
        return SyntaxError::new(format!("invalid YAML: `{character}` must be quoted"), span)
            .hint(format!("a value cannot start with `{character}`: put it in quotes, as in `\"{character}...\"`"));
    }
    if info.contains("tabs disallowed") || line.indent().contains('\t') {
        return SyntaxError::new("invalid YAML: a tab in the indentation", line.indent_span())
            .hint("indent with spaces: YAML does not allow tabs there");
    }
    // The parser names the value in front of the line with the tab.
    if info.contains("found a tab")
        && let Some(next) = line.below(text).filter(|next| next.indent().contains('\t'))
    {
        return SyntaxError::new("invalid YAML: a tab in the indentation", next.indent_span())
            .hint("indent with spaces: YAML does not allow tabs there");
    }
    if info.contains("unknown anchor") {
        return plain("`*` starts an alias in YAML: quote the value, as in `\"*.star\"`");
    }
    if info.contains("hexadecimal") || info.contains("escape") {
        return plain("`\\` starts an escape in double quotes: use single quotes, or write `\\\\`");
    }
    if info.contains("trailing content after") {
        let hint = if line.before(span.start).contains('\'') {
            "quote the whole value once; inside single quotes write `''` for a quote"
        } else {
            "quote the whole value once; inside double quotes write `\\\"` for a quote"
        };
        return SyntaxError::new("invalid YAML: text after a quoted value", span).hint(hint);
    }
    if let Some(open) = Open::before(text, span.end) {
        return open.error(text, info, span);
    }
    if ["mapping values are not allowed", "document start", "simple key expect"].iter().any(|part| info.contains(part))
    {
        return nested_value(text, info, span, &line);
    }
    if let Some(character @ (',' | ']' | '}')) = at.chars().next() {
        return plain(&format!("this `{character}` closes nothing: remove it, or quote the value that contains it"));
    }
    if info.contains("did not find expected key") || info.contains("invalid indentation") {
        return plain(
            "the indentation matches none of the lines above: the keys of a map must start in the same column",
        );
    }
    if info.contains("block sequence entries are not allowed") {
        return plain("put each `- item` on a line of its own below the key, or write `key: [item, item]`");
    }
    if info.contains("block scalar") {
        return plain("`|` and `>` start a multi-line text: quote the value if it is meant literally");
    }
    SyntaxError::new(format!("invalid YAML: {info}"), span)
}

/// A `:` where the parser expects none: in a value, or below a line that cannot have anything below it.
fn nested_value(text: &str, info: &str, span: Span, line: &Line<'_>) -> SyntaxError {
    let error = |span| SyntaxError::new(format!("invalid YAML: {info}"), span);
    if line.before(span.start).contains(": ") {
        return error(span).hint("a value that contains `: ` must be quoted: `key: \"a: b\"`");
    }
    let is_code = |line: &Line<'_>| !line.code().is_empty();
    let above = std::iter::successors(line.above(text), |line| line.above(text)).find(is_code);
    match above {
        Some(above) if !above.code().contains(':') => {
            SyntaxError::new("invalid YAML: a key without `:`", above.code_span())
                .hint("write a `:` after the key, or quote the text if it is a value")
        }
        _ => error(span)
            .hint("the line above already has a value: give both lines the same indentation, or remove that value"),
    }
}

/// A quote or bracket that is not closed.
struct Open {
    character: char,
    offset: usize,
}

impl Open {
    /// What is open at the end of `text[..end]`. Quotes and brackets count only where a value can start, so that those
    /// inside of plain text do not.
    fn before(text: &str, end: usize) -> Option<Open> {
        let mut brackets: Vec<Open> = Vec::new();
        let mut quote: Option<Open> = None;
        let mut previous = '\n';
        let mut significant = '\n';
        let mut characters = text.char_indices().peekable();
        while let Some((offset, character)) = characters.next() {
            if offset >= end && quote.is_none() {
                break;
            }
            let starts_value = matches!(significant, '\n' | ':' | ',' | '[' | '{' | '-');
            match (&quote, character) {
                (Some(open), '\\') if open.character == '"' => drop(characters.next()),
                (Some(open), character) if open.character == character => {
                    // In single quotes, two of them are one character.
                    let is_doubled = character == '\'' && characters.next_if(|(_, next)| *next == '\'').is_some();
                    if !is_doubled {
                        quote = None;
                    }
                }
                (Some(_), _) => {}
                (None, '#') if previous.is_whitespace() => {
                    while characters.next_if(|(_, next)| *next != '\n').is_some() {}
                }
                (None, '"' | '\'') if starts_value => quote = Some(Open { character, offset }),
                (None, '[' | '{') if starts_value => brackets.push(Open { character, offset }),
                (None, ']' | '}') => drop(brackets.pop()),
                _ => {}
            }
            if character == '\n' || !character.is_whitespace() {
                significant = character;
            }
            previous = character;
        }
        quote.or_else(|| brackets.pop())
    }

    fn error(&self, text: &str, info: &str, span: Span) -> SyntaxError {
        let here = self.offset..self.offset + 1;
        if matches!(self.character, '"' | '\'') {
            let quote = self.character;
            return SyntaxError::new("invalid YAML: a quote that is not closed", here)
                .hint(format!("add the closing `{quote}` at the end of the value"));
        }
        // `{TOKEN: ${TOKEN}}`
        if text[span.start..].starts_with('{') && text[..span.start].ends_with('$') {
            return SyntaxError::new(format!("invalid YAML: {info}"), span)
                .hint("between `{` and `}` quote a value that contains braces: `\"${NAME}\"`");
        }
        let (open, close) = if self.character == '[' { ('[', ']') } else { ('{', '}') };
        // A mistake within the brackets is shown where it is.
        let same_line = !text[self.offset..span.start].contains('\n');
        if same_line && !text[span.start..].trim().is_empty() && text[span.start..].starts_with(|c: char| c != '\n') {
            return SyntaxError::new(format!("invalid YAML: {info}"), span).hint(format!(
                "between `{open}` and `{close}`, separate values with `,` and quote values with special characters"
            ));
        }
        SyntaxError::new(format!("invalid YAML: `{open}` is not closed"), here)
            .hint(format!("add the closing `{close}`"))
    }
}

/// One line of the file.
struct Line<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> Line<'a> {
    fn at(text: &'a str, offset: usize) -> Self {
        let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[offset..].find('\n').map_or(text.len(), |length| offset + length);
        Line { text: &text[start..end], start }
    }

    fn above(&self, text: &'a str) -> Option<Self> {
        (self.start > 0).then(|| Line::at(text, self.start - 1))
    }

    fn below(&self, text: &'a str) -> Option<Self> {
        let end = self.start + self.text.len();
        (end < text.len()).then(|| Line::at(text, end + 1))
    }

    fn before(&self, offset: usize) -> &'a str {
        &self.text[..offset - self.start]
    }

    fn indent(&self) -> &'a str {
        &self.text[..self.text.len() - self.text.trim_start().len()]
    }

    fn indent_span(&self) -> Span {
        self.start..self.start + self.indent().len()
    }

    /// The line without its indentation and its comment.
    fn code(&self) -> &'a str {
        let line = self.text.trim();
        let comment = if line.starts_with('#') { Some(0) } else { line.find(" #") };
        line[..comment.unwrap_or(line.len())].trim_end()
    }

    fn code_span(&self) -> Span {
        let start = self.start + self.indent().len();
        start..start + self.code().len()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse;

    /// The text at the place of the error, its message and its hint.
    fn told(text: &str) -> (String, String, String) {
        let error = parse(Path::new("proxy.yaml"), text).unwrap_err();
        let place = text.get(error.span.clone()).unwrap_or_default().to_owned();
        (place, error.message, error.hint.unwrap_or_default())
    }

    #[test]
    fn every_common_mistake_has_a_cure() {
        for (text, place, message, hint) in [
            ("a: @x/y\n", "@", "`@` must be quoted", "put it in quotes"),
            ("a: [b, @x/y]\n", "@", "`@` must be quoted", "put it in quotes"),
            ("a: `x`\n", "`", "must be quoted", "put it in quotes"),
            ("a:\n\tb: x\n", "\t", "a tab in the indentation", "indent with spaces"),
            ("a:\n  b: \"x\n  c: [d]\n", "\"", "a quote that is not closed", "closing `\"`"),
            ("a:\n  b: 'x\n", "'", "a quote that is not closed", "closing `'`"),
            ("a: [\"b\", \"c\"\nd: {}\n", "[", "`[` is not closed", "closing `]`"),
            ("a: {b: c\n", "{", "`{` is not closed", "closing `}`"),
            ("a: {B: ${B}}\n", "{", "did not find expected", "quote a value that contains braces"),
            ("a: [*.star]\n", "*", "unknown anchor", "`*` starts an alias"),
            ("a: 'it's'\n", "s", "after a quoted value", "inside single quotes write `''`"),
            ("a: \"b\" c\n", "c", "after a quoted value", "inside double quotes"),
            ("a: \"C:\\Users\"\n", "\"", "hexadecimal", "use single quotes"),
            ("a: b: c\n", ":", "mapping values", "`: ` must be quoted"),
            ("servers # mine\n\n  a:\n", "servers", "a key without `:`", "write a `:` after the key"),
            ("a: b\n  c: d\n", ":", "mapping values", "the line above already has a value"),
            ("a:\n    b: c\n   d: e\n", "d", "did not find expected key", "matches none of the lines above"),
            ("a:\n  b: c\n  d\n    e: f\n", "d", "a key without `:`", "write a `:` after the key"),
            ("a:\n  b: c\n\td: e\n", "\t", "a tab in the indentation", "indent with spaces"),
            ("a:\n  b: c\n}\n", "}", "", "this `}` closes nothing"),
            ("a: - b\n", "-", "block sequence", "on a line of its own"),
            ("a: |x\n", "|", "block scalar", "quote the value if it is meant literally"),
            ("a: ] b\n", "]", "node content", "this `]` closes nothing"),
            ("a: !x y\n", "y", "tags", "quote the value"),
            ("a: {{x}}\n", "{", "a key must be a string", "quote the value"),
        ] {
            let found = told(text);
            assert_eq!(found.0, place, "{text}: {found:?}");
            assert!(found.1.contains(message) && found.2.contains(hint), "{text}: {found:?}");
        }
    }
}
