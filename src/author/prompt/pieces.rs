//! Lines put together to what can run: a block with its body, a bracket with its end.

/// What was typed and cannot run yet.
#[derive(Debug, Default)]
pub struct Pieces {
    open: String,
}

impl Pieces {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Forgets what was begun.
    pub fn clear(&mut self) {
        self.open.clear();
    }

    /// Takes a line; what can run now, in order.
    pub fn push(&mut self, line: &str) -> Vec<String> {
        let mut done = Vec::new();
        // A line at the margin ends a block, unless it goes on with it.
        let goes_on =
            line.starts_with([' ', '\t']) || ["else", "elif", ")", "]", "}"].iter().any(|word| line.starts_with(word));
        if self.in_block() && !goes_on && !line.trim().is_empty() {
            done.push(std::mem::take(&mut self.open));
        }
        if self.open.is_empty() && line.trim().is_empty() {
            return done;
        }
        self.open.push_str(line);
        self.open.push('\n');
        let ended = line.trim().is_empty() && !is_unfinished(&self.open);
        if ended || (!is_unfinished(&self.open) && !self.in_block()) {
            done.push(std::mem::take(&mut self.open));
        }
        done
    }

    /// What is left at the end of the input.
    pub fn finish(&mut self) -> Option<String> {
        (!self.open.is_empty()).then(|| std::mem::take(&mut self.open))
    }

    /// A block has been opened, and no bracket or string is open.
    fn in_block(&self) -> bool {
        let opens = |line: &str| without_comment(line).trim_end().ends_with(':');
        !self.open.is_empty()
            && !is_unfinished(&self.open)
            && self.open.lines().next().is_some_and(|first| {
                opens(first) || self.open.lines().any(|line| line.starts_with([' ', '\t']) || opens(line))
            })
            && self.open.lines().any(opens)
    }
}

/// Whether a bracket or a long string is open at the end, or the last line goes on.
fn is_unfinished(text: &str) -> bool {
    let mut depth = 0_usize;
    let mut quote: Option<&str> = None;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let mut step = character.len_utf8();
        match quote {
            Some(_) if character == '\\' => step += rest[step..].chars().next().map_or(0, char::len_utf8),
            Some(open) if rest.starts_with(open) => (quote, step) = (None, open.len()),
            // A short string ends with its line, whether closed or not.
            Some(open) if character == '\n' && open.len() == 1 => quote = None,
            Some(_) => {}
            None => match character {
                '"' | '\'' => {
                    let long = if character == '"' { "\"\"\"" } else { "'''" };
                    let open = if rest.starts_with(long) { long } else { &long[..1] };
                    (quote, step) = (Some(open), open.len());
                }
                '#' => step = rest.find('\n').unwrap_or(rest.len()),
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            },
        }
        rest = &rest[step..];
    }
    depth > 0 || quote.is_some_and(|open| open.len() == 3) || text.trim_end_matches('\n').ends_with('\\')
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<String> {
        let mut pieces = Pieces::default();
        let mut done: Vec<String> = text.lines().flat_map(|line| pieces.push(line)).collect();
        done.extend(pieces.finish());
        done
    }

    #[test]
    fn lines_stand_alone_and_blocks_stay_together() {
        assert_eq!(pieces("a = 1\nb = 2\n"), ["a = 1\n", "b = 2\n"]);
        assert_eq!(pieces("def f(x):\n    return x\n\nf(1)\n"), ["def f(x):\n    return x\n\n", "f(1)\n"]);
        // Without an empty line too, as in a file.
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
