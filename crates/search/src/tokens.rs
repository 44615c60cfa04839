//! Estimates the number of tokens of a text. It is an estimate because tokenizers differ and their vocabularies are
//! larger than the proxy. The rules approximate how tokenizers split English and JSON: a short word is one token, a
//! long word several, digits form groups of three and punctuation marks pairs.

const LETTERS_PER_TOKEN: usize = 7;
const DIGITS_PER_TOKEN: usize = 3;
const MARKS_PER_TOKEN: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Space,
    Letter,
    Digit,
    Mark,
    /// A character outside ASCII.
    NonAscii,
}

pub fn estimate_tokens(text: &str) -> usize {
    let mut tokens = 0;
    let mut class = CharClass::Space;
    let mut run = 0;
    for letter in text.chars() {
        let now = class_of(letter);
        if now != class {
            tokens += cost(class, run);
            (class, run) = (now, 0);
        }
        run += 1;
    }
    tokens + cost(class, run)
}

fn class_of(letter: char) -> CharClass {
    match letter {
        ' ' | '\t' | '\n' | '\r' => CharClass::Space,
        'a'..='z' | 'A'..='Z' => CharClass::Letter,
        '0'..='9' => CharClass::Digit,
        '\0'..='\x7f' => CharClass::Mark,
        _ => CharClass::NonAscii,
    }
}

fn cost(class: CharClass, run: usize) -> usize {
    match class {
        // A single space belongs to the word after it.
        CharClass::Space => usize::from(run > 1),
        CharClass::Letter => run.div_ceil(LETTERS_PER_TOKEN),
        CharClass::Digit => run.div_ceil(DIGITS_PER_TOKEN),
        CharClass::Mark => run.div_ceil(MARKS_PER_TOKEN),
        CharClass::NonAscii => run,
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
