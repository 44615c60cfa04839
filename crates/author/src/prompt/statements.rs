//! Joins lines of input to complete statements: a block with its body, an expression with its closing brackets.

use crate::lsp::open_at_end;

/// The lines of an incomplete statement.
#[derive(Debug, Default)]
pub struct StatementBuffer {
    lines: String,
}

impl StatementBuffer {
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Discards the incomplete statement.
    pub fn clear(&mut self) {
        self.lines.clear();
    }

    /// Adds a line and returns the statements that are now complete, in order.
    pub fn push(&mut self, line: &str) -> Vec<String> {
        let mut complete = Vec::new();
        // An unindented line ends a block unless it continues it.
        let continues =
            line.starts_with([' ', '\t']) || ["else", "elif", ")", "]", "}"].iter().any(|word| line.starts_with(word));
        if self.in_block() && !continues && !line.trim().is_empty() {
            complete.push(std::mem::take(&mut self.lines));
        }
        if self.lines.is_empty() && line.trim().is_empty() {
            return complete;
        }
        self.lines.push_str(line);
        self.lines.push('\n');
        let ended = line.trim().is_empty() && !is_unfinished(&self.lines);
        if ended || (!is_unfinished(&self.lines) && !self.in_block()) {
            complete.push(std::mem::take(&mut self.lines));
        }
        complete
    }

    /// Returns the incomplete statement at the end of the input.
    pub fn finish(&mut self) -> Option<String> {
        (!self.lines.is_empty()).then(|| std::mem::take(&mut self.lines))
    }

    /// Whether the buffer is in a block and outside of brackets and strings.
    fn in_block(&self) -> bool {
        let opens = |line: &str| without_comment(line).trim_end().ends_with(':');
        !self.lines.is_empty()
            && !is_unfinished(&self.lines)
            && self.lines.lines().next().is_some_and(|first| {
                opens(first) || self.lines.lines().any(|line| line.starts_with([' ', '\t']) || opens(line))
            })
            && self.lines.lines().any(opens)
    }
}

/// Whether the text ends inside brackets, inside a triple-quoted string, or with a line continuation.
fn is_unfinished(text: &str) -> bool {
    let open = open_at_end(text);
    let in_long_string = open.string.is_some_and(|(_, quotes)| quotes.len() == 3);
    !open.brackets.is_empty() || in_long_string || text.trim_end_matches('\n').ends_with('\\')
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<String> {
        let mut pieces = StatementBuffer::default();
        let mut complete: Vec<String> = text.lines().flat_map(|line| pieces.push(line)).collect();
        complete.extend(pieces.finish());
        complete
    }

    #[test]
    fn lines_are_statements_and_blocks_stay_together() {
        assert_eq!(pieces("a = 1\nb = 2\n"), ["a = 1\n", "b = 2\n"]);
        assert_eq!(pieces("def f(x):\n    return x\n\nf(1)\n"), ["def f(x):\n    return x\n\n", "f(1)\n"]);
        // A block needs no empty line at its end.
        assert_eq!(pieces("def f(x):\n    return x\nf(1)\n"), ["def f(x):\n    return x\n", "f(1)\n"]);
        assert_eq!(
            pieces("if a:\n    x = 1\nelse:\n    x = 2\nprint(x)\n"),
            ["if a:\n    x = 1\nelse:\n    x = 2\n", "print(x)\n"]
        );
        assert_eq!(pieces("x = [\n  1,\n]\ny\n"), ["x = [\n  1,\n]\n", "y\n"]);
        assert_eq!(pieces("t = \"\"\"a:\n\nb\"\"\"\ny\n"), ["t = \"\"\"a:\n\nb\"\"\"\n", "y\n"]);
        assert_eq!(pieces("x = {'a': \"(\"} # [\ny\n"), ["x = {'a': \"(\"} # [\n", "y\n"]);
        assert_eq!(pieces("def f(a,\n      b):\n    return a\nf\n"), ["def f(a,\n      b):\n    return a\n", "f\n"]);
        assert_eq!(pieces("\n\n  \n"), [""; 0]);
    }
}
