//! Makes a script the body of a function, so that it can `return`.

/// By how many lines the function's header moves the script.
pub(super) const LINES_ADDED: usize = 1;
/// The name of the function.
pub(super) const FUNCTION: &str = "the_script_itself";

/// The source of the function; none if the script has no code. Lines that start inside a triple-quoted string are not
/// indented: the space would be part of the string.
pub(super) fn wrap(source: &str) -> Option<String> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source).replace("\r\n", "\n").replace('\r', "\n");
    let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    if !source.lines().any(is_code) {
        return None;
    }
    let mut text = format!("def {FUNCTION}():\n");
    let mut state = LexerState::Code;
    for line in source.split_inclusive('\n') {
        if !matches!(state, LexerState::TripleQuoted(_)) {
            text.push(' ');
        }
        text.push_str(line);
        state = state.after(line);
    }
    Some(text)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LexerState {
    Code,
    /// Inside a string of three quotes of this kind.
    TripleQuoted(u8),
}

impl LexerState {
    /// The state at the end of a line that starts in this state.
    fn after(self, line: &str) -> LexerState {
        let bytes = line.as_bytes();
        let (mut at, mut state) = (0, self);
        while at < bytes.len() {
            at += match state {
                LexerState::Code if bytes[at] == b'#' => break,
                LexerState::Code if matches!(bytes[at], b'"' | b'\'') => {
                    let quote = bytes[at];
                    if bytes[at..].starts_with(&[quote; 3]) {
                        state = LexerState::TripleQuoted(quote);
                        3
                    } else {
                        short_string(&bytes[at..])
                    }
                }
                LexerState::TripleQuoted(_) if bytes[at] == b'\\' => 2,
                LexerState::TripleQuoted(quote) if bytes[at..].starts_with(&[quote; 3]) => {
                    state = LexerState::Code;
                    3
                }
                _ => 1,
            };
        }
        state
    }
}

/// The length of a string that ends on its line, quotes included.
fn short_string(bytes: &[u8]) -> usize {
    let mut at = 1;
    while at < bytes.len() && bytes[at] != bytes[0] {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_indented_except_inside_a_triple_quoted_string() {
        let source = "x = '''a\n  b\\'''\nc'''\r\ny = \"'''\" # '''\nif x:\n\treturn y";
        let expected = "def the_script_itself():\n x = '''a\n  b\\'''\nc'''\n y = \"'''\" # '''\n if x:\n \treturn y";
        assert_eq!(wrap(source).unwrap(), expected);
    }

    #[test]
    fn a_script_without_code_is_none() {
        for empty in ["", " \n\t\n", "# only\n  # words"] {
            assert_eq!(wrap(empty), None, "{empty:?}");
        }
    }
}
