//! Environment files as Docker Compose and VS Code read them: one `NAME=value` per line.

use super::substitute::is_variable_name;
use super::tree::Span;

/// A line that cannot be read. Never contains text of the file, because it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DotenvError {
    pub problem: &'static str,
    pub span: Span,
}

/// The variables in the order of the file, or every line that cannot be read.
///
/// `#` begins a comment at the start of a line and after white space. `export` before a name is allowed. In single quotes
/// a value is taken as it is; in double quotes `\n`, `\r`, `\t`, `\"`, `\\` and `\$` are escapes. Both may span lines.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, String)>, Vec<DotenvError>> {
    let mut variables = Vec::new();
    let mut problems = Vec::new();
    let mut start = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    while start < text.len() {
        let line = text[start..].lines().next().unwrap_or_default();
        let mut end = start + line.len();
        match variable(line, &text[start..]) {
            Ok(None) => {}
            Ok(Some((name, value, length))) => {
                variables.push((name, value));
                end = start + length;
            }
            Err(problem) => problems.push(DotenvError { problem, span: start..end }),
        }
        start = text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1);
    }
    if problems.is_empty() { Ok(variables) } else { Err(problems) }
}

/// The variable that begins on a line, and how much of `rest` it takes; `None` for an empty line or a comment.
fn variable(line: &str, rest: &str) -> Result<Option<(String, String, usize)>, &'static str> {
    let trimmed = line.trim_start();
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return Ok(None);
    }
    let assignment = trimmed.strip_prefix("export").filter(|after| after.starts_with([' ', '\t'])).unwrap_or(trimmed);
    let Some((name, value)) = assignment.split_once('=') else { return Err("expected NAME=VALUE") };
    let name = name.trim();
    if !is_variable_name(&name.replace(['.', '-'], "_")) {
        return Err("the text before `=` is not the name of a variable");
    }
    let value = value.trim_start();
    let at = line.len() - value.len();
    let (value, length) = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let (value, length) = quoted(&rest[at + 1..], quote)?;
            (value, at + 1 + length)
        }
        _ => (unquoted(value).to_owned(), line.len()),
    };
    if value.contains('\0') {
        return Err("a variable must not contain NUL characters");
    }
    Ok(Some((name.to_owned(), value, length)))
}

/// A value without quotes, which ends before a comment.
fn unquoted(value: &str) -> &str {
    let comment = value.char_indices().find(|(index, character)| {
        let after_space = value[..*index].chars().next_back().is_none_or(char::is_whitespace);
        *character == '#' && after_space
    });
    value[..comment.map_or(value.len(), |(index, _)| index)].trim_end()
}

/// A value up to the closing quote, and its length with that quote. Only a comment may follow.
fn quoted(text: &str, quote: char) -> Result<(String, usize), &'static str> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' if quote == '\'' && text[index + 1..].starts_with('\'') => {
                characters.next();
                value.push('\'');
            }
            _ if character == quote => {
                let after = text[index + 1..].lines().next().unwrap_or_default().trim_start();
                if !after.is_empty() && !after.starts_with('#') {
                    return Err("there is text after the closing quote");
                }
                return Ok((value, index + 1));
            }
            '\\' if quote == '"' => match characters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, 't')) => value.push('\t'),
                Some((_, escaped @ ('"' | '\\' | '$'))) => value.push(escaped),
                Some((_, other)) => value.extend(['\\', other]),
                None => break,
            },
            _ => value.push(character),
        }
    }
    Err("unclosed quote")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap()
    }

    fn pairs<const COUNT: usize>(pairs: [(&str, &str); COUNT]) -> Vec<(String, String)> {
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }

    #[test]
    fn values_with_and_without_quotes() {
        let text = "\u{feff}# mine\n\nA=1\r\n export B = two words  # why\nC=a#b$HOME\nD='x # \\n y' # z\nE=\"q\\\"\\n$\\w\"\nF=\n";
        assert_eq!(
            read(text),
            pairs([
                ("A", "1"),
                ("B", "two words"),
                ("C", "a#b$HOME"),
                ("D", "x # \\n y"),
                ("E", "q\"\n$\\w"),
                ("F", "")
            ])
        );
    }

    #[test]
    fn a_quoted_value_may_have_several_lines() {
        assert_eq!(
            read("KEY=\"-----BEGIN\nabc\n-----END\"\nB=2"),
            pairs([("KEY", "-----BEGIN\nabc\n-----END"), ("B", "2")])
        );
    }

    #[test]
    fn every_line_that_cannot_be_read_is_told() {
        let text = "A=1\ns3cret\n1A=x\nB='x' y\nC=\"open\n";
        let found: Vec<_> =
            parse(text).unwrap_err().into_iter().map(|error| (error.problem, &text[error.span])).collect();
        assert_eq!(
            found,
            [
                ("expected NAME=VALUE", "s3cret"),
                ("the text before `=` is not the name of a variable", "1A=x"),
                ("there is text after the closing quote", "B='x' y"),
                ("unclosed quote", "C=\"open"),
            ]
        );
    }
}
