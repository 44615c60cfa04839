//! Estimates the number of tokens of a text. It is an estimate because tokenizers differ and their vocabularies are
//! larger than the proxy. The rules approximate how tokenizers split English and JSON: a short word is one token, a
//! long word several, digits form groups of three and punctuation marks pairs. A text never has more tokens than bytes.

const LETTERS_PER_TOKEN: u8 = 7;
const DIGITS_PER_TOKEN: u8 = 3;
const MARKS_PER_TOKEN: u8 = 2;

// The state of a count: which characters stand in a row, and how many of them since the last token began.
const START: u8 = 0;
const SPACE: u8 = 1;
const SPACES: u8 = 2;
const LETTERS: u8 = 3;
const DIGITS: u8 = LETTERS + LETTERS_PER_TOKEN;
const MARKS: u8 = DIGITS + DIGITS_PER_TOKEN;
const STATES: usize = (MARKS + MARKS_PER_TOKEN) as usize;
/// Set in a step if the byte begins a token.
const TOKEN: u8 = 0x80;

/// The next state after each byte in each state. With a table, the count of a text has no branches.
static STEPS: [[u8; 256]; STATES] = {
    let mut steps = [[START; 256]; STATES];
    let mut state = 0;
    while state < STATES {
        let mut byte = 0;
        while byte < 256 {
            steps[state][byte] = step(state as u8, byte as u8);
            byte += 1;
        }
        state += 1;
    }
    steps
};

const fn step(state: u8, byte: u8) -> u8 {
    match byte {
        // A single space belongs to the word after it, and all spaces in a row are one token.
        b' ' | b'\t' | b'\n' | b'\r' => match state {
            SPACE => SPACES | TOKEN,
            SPACES => SPACES,
            _ => SPACE,
        },
        b'a'..=b'z' | b'A'..=b'Z' => step_in_run(state, LETTERS, LETTERS_PER_TOKEN),
        b'0'..=b'9' => step_in_run(state, DIGITS, DIGITS_PER_TOKEN),
        // A later byte of a character outside ASCII.
        0x80..=0xbf => state,
        // Such a character is a token of its own.
        0xc0..=0xff => START | TOKEN,
        _ => step_in_run(state, MARKS, MARKS_PER_TOKEN),
    }
}

/// The step in a run of characters of which so many form a token. Its states begin with `first`.
const fn step_in_run(state: u8, first: u8, per_token: u8) -> u8 {
    let is_in_run = state >= first && state < first + per_token;
    if is_in_run && state + 1 < first + per_token { state + 1 } else { first | TOKEN }
}

pub fn estimate_tokens(text: &str) -> usize {
    let mut state = START;
    let mut tokens = 0;
    for byte in text.bytes() {
        let step = STEPS[usize::from(state)][usize::from(byte)];
        state = step & !TOKEN;
        tokens += usize::from(step >> 7);
    }
    tokens
}

/// The length in bytes of the longest beginning of a text that has at most this many tokens. It ends between characters.
pub fn beginning_of_tokens(text: &str, tokens: usize) -> usize {
    let mut state = START;
    let mut left = tokens;
    for (at, byte) in text.bytes().enumerate() {
        let step = STEPS[usize::from(state)][usize::from(byte)];
        state = step & !TOKEN;
        if step & TOKEN != 0 {
            if left == 0 {
                return at;
            }
            left -= 1;
        }
    }
    text.len()
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
        assert_eq!(estimate_tokens("a \n\n b"), 3);
        assert_eq!(estimate_tokens("12345678 [[[[[ é"), 3 + 3 + 1);
    }

    #[test]
    fn a_beginning_has_the_tokens_it_is_asked_for_and_ends_between_characters() {
        for text in ["", "list the issues", "{\"name\":\"internationalization\"}", "搜索 äöü", "a\n\n\nb", "123456789"]
        {
            let all = estimate_tokens(text);
            for tokens in 0..=all + 1 {
                let end = beginning_of_tokens(text, tokens);
                assert!(text.is_char_boundary(end), "{text} {tokens}");
                assert!(estimate_tokens(&text[..end]) <= tokens, "{text} {tokens}");
                let next = text[end..].chars().next().map_or(end, |next| end + next.len_utf8());
                assert!(next == end || estimate_tokens(&text[..next]) > tokens, "{text} {tokens}");
            }
            assert!(all <= text.len());
        }
    }
}
