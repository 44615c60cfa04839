//! Refuses a text that is nested too deeply before the parser sees it. The parser and all that walks over its tree recurse,
//! and a stack that overflows ends the whole process; so the depth is estimated from the tokens, in one pass and
//! without recursion, and never below what it will be.

use std::ops::Range;

use super::Source;
use crate::diagnostic::{Diagnostic, Place};

/// What a person writes has some dozen levels. The stacks that scripts are parsed on hold several times as many as this.
pub(super) const MAX_NESTING: usize = 1000;
/// Making a number of its digits takes the square of their count.
const MAX_DIGITS: usize = 10_000;

/// Words that put one expression into another.
const OPERATORS: [&[u8]; 8] = [b"not", b"and", b"or", b"if", b"else", b"in", b"lambda", b"for"];
/// Pairs that are one operator.
const PAIRS: [&[u8; 2]; 14] =
    [b"==", b"!=", b"<=", b">=", b"//", b"<<", b">>", b"**", b"->", b"+=", b"-=", b"*=", b"|=", b"&="];

pub(super) fn check(source: &Source) -> Result<(), Diagnostic> {
    let mut scan = Scan { text: source.text.as_bytes(), at: 0, blocks: Vec::new(), open: vec![0], depth: 0 };
    let Err(fault) = scan.run() else { return Ok(()) };
    let (span, message, hint) = match fault {
        Fault::Nested(at) => (
            at..at + 1,
            format!("this is nested too deeply: more than {MAX_NESTING} brackets, operators or blocks in each other"),
            "split it into several statements; join many texts with `\"\".join([...])`, look things up in a dict",
        ),
        Fault::Digits(span) => (
            span.start..span.start + 1,
            format!("a number of {} digits; a number may have {MAX_DIGITS}", span.len()),
            "write it as a text if it is no number to compute with",
        ),
    };
    Err(Diagnostic::error(message).at(Place::new(&source.name, source.text.clone(), span)).hint(hint))
}

enum Fault {
    Nested(usize),
    Digits(Range<usize>),
}

/// A block of statements: how far it is indented, and how many `elif` its last `if` has, each of which is inside the one
/// before.
struct Block {
    indent: usize,
    branches: usize,
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    blocks: Vec<Block>,
    /// Operators in the current element of each open bracket, outermost first; the first is the statement's own.
    open: Vec<usize>,
    /// The sum of all that is counted now.
    depth: usize,
}

impl Scan<'_> {
    fn run(&mut self) -> Result<(), Fault> {
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
                // The line goes on in the next.
                b'\\' => self.at += 2,
                b'\'' | b'"' => self.text_literal(byte),
                b'(' | b'[' | b'{' => {
                    // A call or an index contains what is before it.
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

    /// A new statement, unless the line is empty: which block it is in, and whether it goes on with an `if`.
    fn begin_line(&mut self) -> Result<(), Fault> {
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

    fn deeper(&mut self) -> Result<(), Fault> {
        if let Some(operators) = self.open.last_mut() {
            *operators += 1;
        }
        self.add()
    }

    fn add(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > MAX_NESTING { Err(Fault::Nested(self.at)) } else { Ok(()) }
    }

    fn word(&mut self) -> Result<(), Fault> {
        let start = self.at;
        self.skip(is_of_a_word);
        if OPERATORS.contains(&&self.text[start..self.at]) { self.deeper() } else { Ok(()) }
    }

    fn number(&mut self) -> Result<(), Fault> {
        let start = self.at;
        self.skip(is_of_a_word);
        if self.at - start > MAX_DIGITS { Err(Fault::Digits(start..self.at)) } else { Ok(()) }
    }

    /// From its opening quotes to its closing ones, or to the end of the line where those are missing.
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

    fn skip(&mut self, wanted: impl Fn(u8) -> bool) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|byte| !wanted(*byte)).unwrap_or(rest.len());
    }
}

fn is_of_a_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{on_big_stack, parse};

    fn told(text: &str) -> Option<String> {
        check(&Source::new("deep.star", text)).err().map(|diagnostic| diagnostic.to_string())
    }

    /// Every way to put things into each other, so often.
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
            let told = told(&text).unwrap_or_else(|| panic!("taken: {}", &text[..60]));
            assert!(told.contains("nested too deeply: more than 1000"), "{told}");
        }
    }

    #[test]
    fn what_is_just_not_too_deep_is_parsed_without_harm() {
        for text in nested(499) {
            assert_eq!(told(&text), None);
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
            assert_eq!(told(&text), None, "{}", &text[..40]);
        }
    }

    #[test]
    fn the_place_is_where_it_became_too_much() {
        let text = format!("a = 1\nb = '(('\nx = {}1\n", "- ".repeat(1001));
        let told = told(&text).expect("it is too deep");
        assert!(told.contains("deep.star:3:"), "{told}");
    }

    #[test]
    fn a_number_may_be_long_but_not_endless() {
        assert_eq!(told(&format!("x = {}", "9".repeat(10_000))), None);
        let told = told(&format!("\nx = {}", "9".repeat(10_001))).expect("it is too long");
        assert!(told.contains("a number of 10001 digits; a number may have 10000"), "{told}");
    }
}
