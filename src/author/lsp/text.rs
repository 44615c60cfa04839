//! What stands at a place of a line: a name, or the inside of a string. Read from the text alone, because while somebody
//! types there is seldom a file that parses.

use std::ops::Range;

/// The string that is open at the end of `line`: where its text begins.
pub(super) fn open_string(line: &str) -> Option<usize> {
    let mut open: Option<(char, usize)> = None;
    let mut characters = line.char_indices();
    while let Some((at, character)) = characters.next() {
        match (character, open) {
            ('\\', Some(_)) => drop(characters.next()),
            ('"' | '\'', None) => open = Some((character, at + 1)),
            (quote, Some((opened, _))) if quote == opened => open = None,
            ('#', None) => return None,
            _ => {}
        }
    }
    open.map(|(_, start)| start)
}

/// The name around a place, with the names before its dots: `json.decode`; `.tools` where something else is before the dot.
pub(super) fn name_at(text: &str, offset: usize) -> Option<(Range<usize>, &str)> {
    let part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let before = &text[..offset];
    let start = before
        .rfind(|letter: char| !part(letter) && letter != '.')
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let end = text[offset..].find(|letter: char| !part(letter)).map_or(text.len(), |length| offset + length);
    let name = &text[start..end];
    name.contains(part).then_some((start..end, name))
}

/// The whole string around a place.
pub(super) fn string_at(text: &str, offset: usize) -> Option<(Range<usize>, &str)> {
    let line = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    let start = line + open_string(&text[line..offset])?;
    let quote = text[..start].chars().next_back()?;
    let end = text[start..].find([quote, '\n']).map_or(text.len(), |length| start + length);
    Some((start..end, &text[start..end]))
}

/// Where a file makes a name: its function, else its first assignment at the start of a line.
pub(super) fn definition(text: &str, name: &str) -> Option<Range<usize>> {
    let mut start = 0;
    let mut assigned = None;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        let code = line.trim_start();
        if let Some(rest) = code.strip_prefix("def ")
            && rest.trim_start().strip_prefix(name).is_some_and(|after| after.trim_start().starts_with('('))
        {
            let at = start + indent + code.find(name).unwrap_or(0);
            return Some(at..at + name.len());
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

/// The functions and variables that a file makes, each with its line.
pub(super) fn made(text: &str) -> Vec<(&str, &str)> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for line in text.lines() {
        let code = line.trim();
        let name = match code.strip_prefix("def ") {
            Some(rest) => rest.split('(').next(),
            None => code.split_once('=').filter(|(_, after)| !after.starts_with('=')).map(|(name, _)| name),
        };
        let Some(name) = name.map(str::trim) else { continue };
        let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
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
    fn the_name_around_a_place() {
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
    fn where_names_are_made() {
        let text = "limit = 1\n\ndef wrap(call):\n    limit = 2\n    return call\n";
        assert_eq!(definition(text, "wrap"), Some(15..19));
        assert_eq!(definition(text, "limit"), Some(0..5));
        assert_eq!(definition(text, "wra"), None);
        assert_eq!(made(text), [("limit", "limit = 1"), ("wrap", "def wrap(call)")]);
    }
}
