//! Words of a command line.

/// Splits a command into words like a shell: at white space, with quotes and backslash escapes. `None` if a quote or an
/// escape is incomplete.
pub(crate) fn split_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            _ if character.is_whitespace() => words.extend(word.take()),
            '\'' => quoted(&mut characters, '\'', word.get_or_insert_default())?,
            '"' => quoted(&mut characters, '"', word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(characters.next()?),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    Some(words)
}

fn quoted(characters: &mut std::str::Chars, quote: char, word: &mut String) -> Option<()> {
    loop {
        match characters.next()? {
            character if character == quote => return Some(()),
            // Inside double quotes a backslash escapes only these characters.
            '\\' if quote == '"' => match characters.next()? {
                escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                other => word.extend(['\\', other]),
            },
            character => word.push(character),
        }
    }
}
