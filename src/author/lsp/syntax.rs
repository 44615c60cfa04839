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
    fn definitions_of_names() {
        let text = "limit = 1\n\ndef wrap(call):\n    limit = 2\n    return call\n";
        assert_eq!(definition(text, "wrap"), Some(15..19));
        assert_eq!(definition(text, "limit"), Some(0..5));
        assert_eq!(definition(text, "wra"), None);
        assert_eq!(defined_names(text), [("limit", "limit = 1"), ("wrap", "def wrap(call)")]);
    }
}
