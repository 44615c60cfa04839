//! Finds names, strings and open brackets in a text that need not parse.

use std::ops::Range;

pub(super) fn is_name_part(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// What is open at the end of a text.
#[derive(Debug, Default)]
pub(crate) struct Open<'a> {
    /// The brackets that close those which are open, innermost last.
    pub brackets: Vec<char>,
    /// The offset of a string literal, and its quotes.
    pub string: Option<(usize, &'a str)>,
}

pub(crate) fn open_at_end(text: &str) -> Open<'_> {
    let mut open = Open::default();
    let mut offset = 0;
    while let Some(character) = text[offset..].chars().next() {
        let rest = &text[offset..];
        let mut step = character.len_utf8();
        match (open.string, character) {
            (Some(_), '\\') => step += rest[step..].chars().next().map_or(0, char::len_utf8),
            (Some((_, quotes)), _) if rest.starts_with(quotes) => {
                open.string = None;
                step = quotes.len();
            }
            // A string with single quotes ends at the end of its line, even without a closing quote.
            (Some((_, quotes)), '\n') if quotes.len() == 1 => open.string = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => {
                step = if rest.starts_with("\"\"\"") || rest.starts_with("'''") { 3 } else { 1 };
                open.string = Some((offset, &rest[..step]));
            }
            (None, '#') => step = rest.find('\n').unwrap_or(rest.len()),
            (None, '(') => open.brackets.push(')'),
            (None, '[') => open.brackets.push(']'),
            (None, '{') => open.brackets.push('}'),
            (None, ')' | ']' | '}') => drop(open.brackets.pop()),
            _ => {}
        }
        offset += step;
    }
    open
}

/// If a string literal is open at the end of `line`, the offset at which its content starts.
pub(super) fn open_string(line: &str) -> Option<usize> {
    open_at_end(line).string.map(|(start, quotes)| start + quotes.len())
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
    fn the_open_brackets_of_a_text() {
        let closing = |text: &str| open_at_end(text).brackets.iter().collect::<String>();
        assert_eq!(closing("f(a, [1, 2], g(\"(\", # (\n x, {"), "))}");
        assert_eq!(closing("def f():\n    \"\"\"It's (\n    \"so\" ü[.\n    \"\"\"\n    g("), ")");
        assert_eq!(closing("\"\"\"f("), "");
    }
}
