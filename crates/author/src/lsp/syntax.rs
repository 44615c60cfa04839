//! Finds names, strings and definitions in the text of a script. Works on the text alone, because a file that is being
//! edited seldom parses.

use std::ops::Range;

pub(super) fn is_name_part(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// If a string literal is open at the end of `line`, the offset at which its content starts.
pub(super) fn open_string(line: &str) -> Option<usize> {
    let mut open: Option<(char, usize)> = None;
    let mut characters = line.char_indices();
    while let Some((index, character)) = characters.next() {
        match (character, open) {
            ('\\', Some(_)) => drop(characters.next()),
            ('"' | '\'', None) => open = Some((character, index + 1)),
            (quote, Some((opened, _))) if quote == opened => open = None,
            ('#', None) => return None,
            _ => {}
        }
    }
    open.map(|(_, start)| start)
}

/// The name around an offset with its qualifiers: `json.decode`; or `.tools` if an expression precedes the dot.
pub(super) fn name_at(text: &str, offset: usize) -> Option<(Range<usize>, &str)> {
    let before = &text[..offset];
    let start = before
        .rfind(|character: char| !is_name_part(character) && character != '.')
        .map_or(0, |index| index + before[index..].chars().next().map_or(1, char::len_utf8));
    let end =
        text[offset..].find(|character: char| !is_name_part(character)).map_or(text.len(), |length| offset + length);
    let name = &text[start..end];
    name.contains(is_name_part).then_some((start..end, name))
}

/// The content of the string literal around an offset.
pub(super) fn string_at(text: &str, offset: usize) -> Option<(Range<usize>, &str)> {
    let line = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    let start = line + open_string(&text[line..offset])?;
    let quote = text[..start].chars().next_back()?;
    let end = text[start..].find([quote, '\n']).map_or(text.len(), |length| start + length);
    Some((start..end, &text[start..end]))
}

/// The definition of a name: its function, otherwise its first assignment at the top level.
pub(super) fn definition(text: &str, name: &str) -> Option<Range<usize>> {
    let mut start = 0;
    let mut assigned = None;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        let code = line.trim_start();
        if let Some(rest) = code.strip_prefix("def ")
            && rest.trim_start().strip_prefix(name).is_some_and(|after| after.trim_start().starts_with('('))
        {
            let found = start + indent + code.find(name).unwrap_or(0);
            return Some(found..found + name.len());
        }
        if assigned.is_none()
            && indent == 0
            && code.strip_prefix(name).is_some_and(|after| {
                let after = after.trim_start();
                after.starts_with('=') && !after.starts_with("==")
            })
        {
            assigned = Some(start..start + name.len());
        }
        start += line.len();
    }
    assigned
}

/// The functions and variables that a file defines, each with its line.
pub(super) fn defined_names(text: &str) -> Vec<(&str, &str)> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for line in text.lines() {
        let code = line.trim();
        let name = match code.strip_prefix("def ") {
            Some(rest) => rest.split('(').next(),
            None => code.split_once('=').filter(|(_, after)| !after.starts_with('=')).map(|(name, _)| name),
        };
        let Some(name) = name.map(str::trim) else { continue };
        let is_name = !name.is_empty() && name.chars().all(is_name_part);
        if is_name && !names.iter().any(|(known, _)| *known == name) {
            names.push((name, code.trim_end_matches(':')));
        }
    }
    names
}

/// The expression that ends at `end`: names, dots, and brackets with what is in them.
pub(super) fn expression_before(text: &str, end: usize) -> &str {
    let bytes = text.as_bytes();
    let mut start = end;
    while start > 0 {
        let previous = text[..start].chars().next_back().unwrap_or_default();
        match previous {
            ')' | ']' => match opening(text, start - 1) {
                Some(open) => start = open,
                None => break,
            },
            part if is_name_part(part) || part == '.' => start -= part.len_utf8(),
            _ => break,
        }
        // A bracket belongs to what is in front of it, without a space.
        if matches!(bytes.get(start), Some(b'(' | b'['))
            && !text[..start].ends_with(|part: char| is_name_part(part) || part == ')' || part == ']')
        {
            break;
        }
    }
    &text[start..end]
}

/// The offset of the bracket that the one at `close` closes.
fn opening(text: &str, close: usize) -> Option<usize> {
    let mut depth = 0;
    let mut quote: Option<char> = None;
    for (offset, character) in text[..=close].char_indices().rev() {
        match (quote, character) {
            (Some(open), character) if open == character => quote = None,
            (Some(_), '\n') => return None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, ')' | ']' | '}') => depth += 1,
            (None, '(' | '[' | '{') => {
                depth -= 1;
                if depth == 0 {
                    return Some(offset);
                }
            }
            _ => {}
        }
    }
    None
}

/// What is in the bracket that a text starts with, and what follows it.
pub(super) fn balanced(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    let mut quote: Option<char> = None;
    for (offset, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), character) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => {
                depth -= 1;
                if depth == 0 {
                    return Some((&text[1..offset], &text[offset + 1..]));
                }
            }
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn is_triple(text: &str) -> bool {
    text.starts_with("\"\"\"") || text.starts_with("'''")
}

/// The docstring of a function.
pub(super) fn docstring<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let end = definition(text, name)?.end;
    let body = text[end..].split_once(":\n")?.1.trim_start();
    let rest = body.strip_prefix("\"\"\"")?;
    Some(rest[..rest.find("\"\"\"")?].trim())
}

/// A bracket that is open at some position.
pub(super) struct OpenBracket {
    pub bracket: char,
    pub offset: usize,
    /// The offsets of the commas in it that are in no other bracket.
    pub commas: Vec<usize>,
}

/// The brackets that are open at the end of a text, outermost first. Strings and comments do not count.
pub(super) fn open_brackets(text: &str) -> Vec<OpenBracket> {
    let mut open: Vec<OpenBracket> = Vec::new();
    let mut quote: Option<char> = None;
    let mut characters = text.char_indices();
    while let Some((offset, character)) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => drop(characters.next()),
            (Some(closing), character) if closing == character => quote = None,
            // A string that is not closed ends with its line.
            (Some(_), '\n') => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if is_triple(&text[offset..]) => {
                let rest = &text[offset + 3..];
                let Some(length) = rest.find(&text[offset..offset + 3]) else { return open };
                for _ in text[offset + 1..offset + 3 + length + 3].chars() {
                    characters.next();
                }
            }
            (None, '"' | '\'') => quote = Some(character),
            (None, '#') => {
                let rest = &text[offset..];
                for _ in rest[..rest.find('\n').unwrap_or(rest.len())].chars().skip(1) {
                    characters.next();
                }
            }
            (None, '(' | '[' | '{') => open.push(OpenBracket { bracket: character, offset, commas: Vec::new() }),
            (None, ')' | ']' | '}') => drop(open.pop()),
            (None, ',') => open.last_mut().into_iter().for_each(|bracket| bracket.commas.push(offset)),
            _ => {}
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_open_string_of_a_line() {
        assert_eq!(open_string("x = backends()[\"git"), Some(16));
        assert_eq!(open_string("x = 'it\\'s"), Some(5));
        assert_eq!(open_string("x = \"done\""), None);
        assert_eq!(open_string("# \"x"), None);
    }

    #[test]
    fn the_name_around_an_offset() {
        let text = "a = json.decode(üx)";
        assert_eq!(name_at(text, 6).unwrap().1, "json");
        assert_eq!(name_at(text, 11).unwrap().1, "json.decode");
        assert_eq!(name_at(text, 15).unwrap().1, "json.decode");
        assert_eq!(name_at(text, 16).unwrap().1, "üx");
        assert_eq!(name_at("  ", 1), None);
        assert_eq!(name_at("f().tools", 9).unwrap().1, ".tools");
        assert_eq!(string_at("x = 'abc' + y", 6).unwrap().1, "abc");
    }

    #[test]
    fn expressions_and_brackets() {
        let before = |text: &'static str| expression_before(text, text.len());
        assert_eq!(before("x = backends()[\"a)b\"]"), "backends()[\"a)b\"]");
        assert_eq!(before("f(a, b.c"), "b.c");
        assert_eq!(before("if (a + b)"), "(a + b)");
        assert_eq!(balanced("(a, (b), ')') + c"), Some(("a, (b), ')'", " + c")));
        let open = open_brackets("f(a, [1, 2], g(\"(\", # (\n x, {");
        let shown: Vec<(char, usize)> = open.iter().map(|open| (open.bracket, open.commas.len())).collect();
        assert_eq!(shown, [('(', 2), ('(', 2), ('{', 0)]);
        let text = "def f():\n    \"\"\"It's (\n    \"so\" ü[.\n    \"\"\"\n    g(";
        assert_eq!(open_brackets(text).iter().map(|open| open.offset).collect::<Vec<_>>(), [text.len() - 1]);
        assert!(open_brackets("\"\"\"f(").is_empty());
    }

    #[test]
    fn definitions_of_names() {
        let text = "limit = 1\n\ndef wrap(call):\n    limit = 2\n    return call\n";
        assert_eq!(definition(text, "wrap"), Some(15..19));
        assert_eq!(definition(text, "limit"), Some(0..5));
        assert_eq!(definition(text, "wra"), None);
        assert_eq!(defined_names(text), [("limit", "limit = 1"), ("wrap", "def wrap(call)")]);
    }
}
