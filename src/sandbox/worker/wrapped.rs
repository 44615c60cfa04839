//! A script as the body of a function, so that it can `return`.

/// How the function's own line and the indentation move what the script's author wrote.
pub(super) const LINES_ADDED: usize = 1;
pub(super) const FUNCTION: &str = "the_script_itself";

/// The function's text; none if there is nothing to run. Lines that begin inside of a long string keep their beginning:
/// a space there would be part of the string.
pub(super) fn wrapped(source: &str) -> Option<String> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source).replace("\r\n", "\n").replace('\r', "\n");
    let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    if !source.lines().any(is_code) {
        return None;
    }
    let mut text = format!("def {FUNCTION}():\n");
    let mut state = State::Code;
    for line in source.split_inclusive('\n') {
        if !matches!(state, State::Long(_)) {
            text.push(' ');
        }
        text.push_str(line);
        state = state.after(line);
    }
    Some(text)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Code,
    /// Inside of a string of three such quotes.
    Long(u8),
}

impl State {
    /// What follows on a line.
    fn after(self, line: &str) -> State {
        let bytes = line.as_bytes();
        let (mut at, mut state) = (0, self);
        while at < bytes.len() {
            at += match state {
                State::Code if bytes[at] == b'#' => break,
                State::Code if matches!(bytes[at], b'"' | b'\'') => {
                    let quote = bytes[at];
                    if bytes[at..].starts_with(&[quote; 3]) {
                        state = State::Long(quote);
                        3
                    } else {
                        short_string(&bytes[at..])
                    }
                }
                State::Long(_) if bytes[at] == b'\\' => 2,
                State::Long(quote) if bytes[at..].starts_with(&[quote; 3]) => {
                    state = State::Code;
                    3
                }
                _ => 1,
            };
        }
        state
    }
}

/// The length of a string that ends on its line.
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
    fn every_line_is_indented_but_those_inside_of_a_long_string() {
        let source = "x = '''a\n  b\\'''\nc'''\r\ny = \"'''\" # '''\nif x:\n\treturn y";
        let expected = "def the_script_itself():\n x = '''a\n  b\\'''\nc'''\n y = \"'''\" # '''\n if x:\n \treturn y";
        assert_eq!(wrapped(source).unwrap(), expected);
    }

    #[test]
    fn a_script_that_says_nothing_is_none() {
        for empty in ["", " \n\t\n", "# only\n  # words"] {
            assert_eq!(wrapped(empty), None, "{empty:?}");
        }
    }
}
