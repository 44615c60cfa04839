//! Refuses a source that is nested too deeply, before it is parsed. The parser and everything that walks the syntax tree
//! recurse, and a stack overflow ends the process. The depth is estimated from the tokens in one pass without recursion;
//! the estimate is never too low.

use std::ops::Range;

use crate::Source;
use proxy_base::diagnostic::{Diagnostic, Location};

/// People write a few dozen levels. The stacks that scripts are parsed on hold several times as many as this.
const MAX_NESTING: usize = 1000;
/// The maximum length of a number. Parsing a number takes time quadratic in its length.
const MAX_DIGITS: usize = 10_000;

/// Keywords that nest one expression in another.
const OPERATORS: [&[u8]; 8] = [b"not", b"and", b"or", b"if", b"else", b"in", b"lambda", b"for"];
/// Operators of two characters.
const PAIRS: [&[u8; 2]; 14] =
    [b"==", b"!=", b"<=", b">=", b"//", b"<<", b">>", b"**", b"->", b"+=", b"-=", b"*=", b"|=", b"&="];

pub(crate) fn check(source: &Source) -> Result<(), Diagnostic> {
    let mut scan = Scan { text: source.text.as_bytes(), at: 0, blocks: Vec::new(), open: vec![0], depth: 0 };
    let Err(problem) = scan.run() else { return Ok(()) };
    let (span, message, hint) = match problem {
        SourceProblem::Nested(at) => (
            at..at + 1,
            format!("this is nested too deeply: more than {MAX_NESTING} nested brackets, operators or blocks"),
            "split it into several statements; join many texts with `\"\".join([...])`, look things up in a dict",
        ),
        SourceProblem::Digits(span) => (
            span.start..span.start + 1,
            format!("a number of {} digits; a number may have {MAX_DIGITS}", span.len()),
            "write it as a string unless you compute with it",
        ),
    };
    Err(Diagnostic::error(message).at(Location::new(&source.name, source.text.clone(), span)).hint(hint))
}

enum SourceProblem {
    Nested(usize),
    Digits(Range<usize>),
}

/// A block of statements: its indentation, and the number of `elif` branches of its last `if`, each of which is nested in
/// the one before.
struct Block {
    indent: usize,
    branches: usize,
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    blocks: Vec<Block>,
    /// The number of operators in the current element of each open bracket, outermost first. The first entry is the
    /// statement's own.
    open: Vec<usize>,
    /// The current estimate of the depth.
    depth: usize,
}

impl Scan<'_> {
    fn run(&mut self) -> Result<(), SourceProblem> {
        self.begin_line()?;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'#' => self.skip(|byte| byte != b'\n'),
                b'\n' => {
                    self.at += 1;
                    if self.open.len() == 1 {
                        self.begin_line()?;
                    }
                }
                // A line continuation.
                b'\\' => self.at += 2,
                b'\'' | b'"' => self.text_literal(byte),
                b'(' | b'[' | b'{' => {
                    // A call or an index nests the expression before it.
                    self.deeper()?;
                    self.open.push(0);
                    self.at += 1;
                }
                b')' | b']' | b'}' => {
                    if self.open.len() > 1 {
                        self.end_element();
                        self.open.pop();
                    }
                    self.at += 1;
                }
                b',' | b';' => {
                    self.end_element();
                    self.at += 1;
                }
                b'0'..=b'9' => self.number()?,
                b'_' | b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => self.word()?,
                b'=' if self.text.get(self.at + 1) != Some(&b'=') => self.at += 1,
                b'.' | b'!' | b'%' | b'&' | b'*' | b'+' | b'-' | b'/' | b'<' | b'=' | b'>' | b'^' | b'|' | b'~' => {
                    self.deeper()?;
                    let pair = self.text.get(self.at..self.at + 2);
                    self.at += if PAIRS.iter().any(|known| pair == Some(&known[..])) { 2 } else { 1 };
                }
                _ => self.at += 1,
            }
        }
        Ok(())
    }

    /// Begins a statement, unless the line is empty: finds its block, and whether it continues an `if`.
    fn begin_line(&mut self) -> Result<(), SourceProblem> {
        let start = self.at;
        self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        if matches!(self.text.get(self.at), None | Some(b'\n' | b'#')) {
            return Ok(());
        }
        self.end_element();
        let indent = self.at - start;
        while let Some(block) = self.blocks.pop_if(|block| block.indent > indent) {
            self.depth -= 1 + block.branches;
        }
        if self.blocks.last().is_none_or(|block| block.indent < indent) {
            self.blocks.push(Block { indent, branches: 0 });
            self.add()?;
        }
        let rest = &self.text[self.at..];
        let Some(block) = self.blocks.last_mut() else { return Ok(()) };
        if rest.starts_with(b"elif") {
            block.branches += 1;
            self.add()?;
        } else if !rest.starts_with(b"else") {
            self.depth -= std::mem::take(&mut block.branches);
        }
        Ok(())
    }

    fn end_element(&mut self) {
        if let Some(operators) = self.open.last_mut() {
            self.depth -= std::mem::take(operators);
        }
    }

    fn deeper(&mut self) -> Result<(), SourceProblem> {
        if let Some(operators) = self.open.last_mut() {
            *operators += 1;
        }
        self.add()
    }

    fn add(&mut self) -> Result<(), SourceProblem> {
        self.depth += 1;
        if self.depth > MAX_NESTING { Err(SourceProblem::Nested(self.at)) } else { Ok(()) }
    }

    fn word(&mut self) -> Result<(), SourceProblem> {
        let start = self.at;
        self.skip(is_of_a_word);
        if OPERATORS.contains(&&self.text[start..self.at]) { self.deeper() } else { Ok(()) }
    }

    fn number(&mut self) -> Result<(), SourceProblem> {
        let start = self.at;
        self.skip(is_of_a_word);
        if self.at - start > MAX_DIGITS { Err(SourceProblem::Digits(start..self.at)) } else { Ok(()) }
    }

    /// Skips a string literal, or the rest of the line if the closing quotes are missing.
    fn text_literal(&mut self, quote: u8) {
        let long = self.text[self.at..].starts_with(&[quote; 3]);
        let quotes = if long { 3 } else { 1 };
        self.at += quotes;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'\\' => self.at += 2,
                b'\n' if !long => return,
                _ if self.text[self.at..].starts_with(&[quote; 3][..quotes]) => {
                    self.at += quotes;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    fn skip(&mut self, matches: impl Fn(u8) -> bool) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|byte| !matches(*byte)).unwrap_or(rest.len());
    }
}

fn is_of_a_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{on_big_stack, parse};

    fn refusal(text: &str) -> Option<String> {
        check(&Source::new("deep.star", text)).err().map(|diagnostic| diagnostic.to_string())
    }

    /// Every way to nest something, `count` levels deep.
    fn nested(count: usize) -> Vec<String> {
        let chain = |part: &str, end: &str| format!("x = {}{end}\n", part.repeat(count));
        let blocks: String = (0..count).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect();
        let branches: String = (0..count).map(|_| "elif x:\n  pass\n").collect();
        vec![
            chain("- ", "1"),
            chain("-", "1"),
            chain("not ", "1"),
            chain("1 + ", "1"),
            chain("1 or ", "1"),
            chain("1 if 1 else ", "1"),
            chain("lambda: ", "1"),
            format!("x = {}{}\n", "[".repeat(count), "]".repeat(count)),
            format!("x = {}1{}\n", "f(\n".repeat(count), ")".repeat(count)),
            format!("x = {}\n", "(".repeat(count)),
            format!("x = f{}\n", "()".repeat(count)),
            format!("x = f{}\n", "[0]".repeat(count)),
            format!("x = f{}\n", ".a".repeat(count)),
            format!("x = [a {}]\n", "for a in b ".repeat(count)),
            format!("x: int {} = 1\n", "| int ".repeat(count)),
            format!("{blocks}{}pass\n", " ".repeat(count)),
            format!("if x:\n  pass\n{branches}"),
        ]
    }

    #[test]
    fn what_is_nested_too_deeply_in_any_way_is_refused_in_one_pass() {
        for text in nested(5000).into_iter().chain(nested(1001)) {
            let refusal = refusal(&text).unwrap_or_else(|| panic!("accepted: {}", &text[..60]));
            assert!(refusal.contains("nested too deeply: more than 1000"), "{refusal}");
        }
    }

    #[test]
    fn what_is_just_not_too_deep_is_parsed_without_harm() {
        for text in nested(499) {
            assert_eq!(refusal(&text), None);
            // It may mean nothing, but it must come back.
            let parsed = on_big_stack(|| parse(&Source::new("deep.star", text.as_str())).is_ok());
            assert!(parsed.is_ok(), "{}", &text[..60]);
        }
    }

    #[test]
    fn what_stands_side_by_side_is_not_nested() {
        let side_by_side = [
            "x = -1\n".repeat(5000),
            format!("x = [{}]\n", "-(1) + 2, ".repeat(5000)),
            format!("x = {{{}}}\n", "'a': {'b': [1]},\n".repeat(5000)),
            format!("x = f({})\n", "a = not b, ".repeat(5000)),
            "if x:\n  y = 1\nelif z:\n  y = 2\nelse:\n  y = 3\n".repeat(5000),
            "def f(a, b = -1):\n    return a.b(c)[0]\n\n".repeat(5000),
            format!("x = '{}' # {}\n", "((((".repeat(5000), "((((".repeat(5000)),
            format!("'''{}\n it's \\''' {}'''\nx = 1\n", "[\n".repeat(5000), "[".repeat(5000)),
            format!("x = r\"{}\\\"{}\"\n", "(".repeat(5000), "(".repeat(5000)),
            "x = (1 +\n# a ( here\n  2)\n".repeat(5000),
        ];
        for text in side_by_side {
            assert_eq!(refusal(&text), None, "{}", &text[..40]);
        }
    }

    #[test]
    fn the_place_is_where_it_became_too_much() {
        let text = format!("a = 1\nb = '(('\nx = {}1\n", "- ".repeat(1001));
        let refusal = refusal(&text).expect("it is too deep");
        assert!(refusal.contains("deep.star:3:"), "{refusal}");
    }

    #[test]
    fn a_number_may_be_long_but_not_endless() {
        assert_eq!(refusal(&format!("x = {}", "9".repeat(10_000))), None);
        let refusal = refusal(&format!("\nx = {}", "9".repeat(10_001))).expect("it is too long");
        assert!(refusal.contains("a number of 10001 digits; a number may have 10000"), "{refusal}");
    }
}
