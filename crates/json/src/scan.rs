//! Finds where values end in valid JSON, without parsing them. Text that is not JSON gives wrong positions, but never
//! one that leads to a read beyond the end.

/// Up to this length a string is searched eight bytes at a time; `memchr` is faster on longer ones and slower to start.
const SHORT: usize = 64;

/// The position behind the closing quote of the string whose content begins at `from`.
pub(super) fn end_of_string(text: &[u8], from: usize) -> usize {
    string(text, from).0
}

/// The position behind the closing quote of the string whose content begins at `from`, and whether the string has
/// escapes.
pub(super) fn string(text: &[u8], from: usize) -> (usize, bool) {
    let (mut at, mut near, mut escaped) = (from, from + SHORT, false);
    while let Some(chunk) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let marked = marked(u64::from_le_bytes(*chunk));
        if marked != 0 {
            at += marked.trailing_zeros() as usize / 8;
            if text[at] == b'"' {
                return (at + 1, escaped);
            }
            (at, escaped) = (at + 2, true);
            // One escape is often followed by others.
            near = at + SHORT;
        } else if at < near {
            at += 8;
        } else {
            match memchr::memchr2(b'"', b'\\', &text[at..]) {
                Some(found) => at += found,
                None => return (text.len(), escaped),
            }
        }
    }
    while let Some(byte) = text.get(at) {
        at += match byte {
            b'"' => return (at + 1, escaped),
            b'\\' => {
                escaped = true;
                2
            }
            _ => 1,
        };
    }
    (text.len(), escaped)
}

/// Marks the quotes and backslashes among eight bytes by their highest bits; only the lowest mark is exact.
fn marked(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH_BITS: u64 = u64::from_le_bytes([0x80; 8]);
    // Subtracting one from a zero byte sets its highest bit.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH_BITS;
    zero(word ^ u64::from_le_bytes([b'"'; 8])) | zero(word ^ u64::from_le_bytes([b'\\'; 8]))
}

/// The position behind the value that begins at `at`.
pub(super) fn end_of_value(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'"') => end_of_string(text, at + 1),
        Some(b'{' | b'[') => end_of_brackets(text, at),
        _ => {
            let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
            text.get(at..).and_then(|rest| rest.iter().position(is_end)).map_or(text.len(), |length| at + length)
        }
    }
}

/// The classes of bytes outside strings: 1 opens a string, 2 opens a bracket, 3 closes one, 0 is anything else.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    classes[b'"' as usize] = 1;
    (classes[b'{' as usize], classes[b'[' as usize]) = (2, 2);
    (classes[b'}' as usize], classes[b']' as usize]) = (3, 3);
    classes
};

fn end_of_brackets(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while let Some(byte) = text.get(at) {
        at += 1;
        match CLASSES[usize::from(*byte)] {
            0 => {}
            1 => at = end_of_string(text, at),
            2 => depth += 1,
            _ => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
        }
    }
    text.len()
}

/// The position of the next byte that is not white space.
pub(super) fn skip_space(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_where_it_ends() {
        let long = format!("\"{}\\\\\\\"[\"", "x".repeat(100));
        let values =
            ["1", "-1.5e+10", "null", "\"\"", "\"a\\\"]}\"", &long, "[]", "{\"a\":[1,\"]\"],\"b\":{}}", "[[[]]]"];
        for value in values {
            for behind in ["", ",1", "}", "]", " ,", "\n}"] {
                assert_eq!(end_of_value(format!("{value}{behind}").as_bytes(), 0), value.len(), "{value}{behind}");
            }
        }
    }

    #[test]
    fn what_is_cut_off_ends_with_the_text() {
        let long = format!("\"{}\\", "x".repeat(100));
        for text in ["", "\"", "\"\\", "[", "{\"a", "[\"\\\"", &long] {
            let at = end_of_value(text.as_bytes(), 0);
            assert!(at >= text.len() && at <= text.len() + 1, "{text}: {at}");
        }
    }
}
