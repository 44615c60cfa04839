//! How many tokens a text costs a model: an estimate, because every model counts otherwise and their tables are larger
//! than the proxy. It follows how such tables cut English and JSON: short words are one token, long ones several, digits
//! go in threes, marks in pairs.

/// Letters of a word that make one token.
const LETTERS: usize = 7;
const DIGITS: usize = 3;
const MARKS: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Space,
    Letter,
    Digit,
    Mark,
    /// A letter that is more than one byte.
    Foreign,
}

pub fn estimate_tokens(text: &str) -> usize {
    let mut tokens = 0;
    let mut kind = Kind::Space;
    let mut run = 0;
    for letter in text.chars() {
        let now = kind_of(letter);
        if now != kind {
            tokens += cost(kind, run);
            (kind, run) = (now, 0);
        }
        run += 1;
    }
    tokens + cost(kind, run)
}

fn kind_of(letter: char) -> Kind {
    match letter {
        ' ' | '\t' | '\n' | '\r' => Kind::Space,
        'a'..='z' | 'A'..='Z' => Kind::Letter,
        '0'..='9' => Kind::Digit,
        '\0'..='\x7f' => Kind::Mark,
        _ => Kind::Foreign,
    }
}

fn cost(kind: Kind, run: usize) -> usize {
    match kind {
        // A single space belongs to the word after it.
        Kind::Space => usize::from(run > 1),
        Kind::Letter => run.div_ceil(LETTERS),
        Kind::Digit => run.div_ceil(DIGITS),
        Kind::Mark => run.div_ceil(MARKS),
        Kind::Foreign => run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_about_words_and_marks() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("list the issues"), 3);
        assert_eq!(estimate_tokens("{\"name\":\"list\"}"), 6);
        assert_eq!(estimate_tokens("internationalization 2026"), 5);
        assert_eq!(estimate_tokens("搜索"), 2);
    }
}
