//! Finding the way through JSON that has been checked: where a value ends, and no more than that. What is no JSON after
//! all is never looked at behind its end.

/// Eight bytes at a time are enough for most strings. Longer ones are searched in leaps, which take some time to begin.
const SHORT: usize = 64;

/// Where the string ends that has begun before: the place behind its last quote.
pub(super) fn behind_string(text: &[u8], from: usize) -> usize {
    string(text, from).0
}

/// The same, and whether it has escapes.
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

/// The lowest bit set in the highest place of a byte tells the first byte that is a quote or a backslash.
fn marked(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHEST: u64 = u64::from_le_bytes([0x80; 8]);
    // A byte that is zero borrows from its highest place.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHEST;
    zero(word ^ u64::from_le_bytes([b'"'; 8])) | zero(word ^ u64::from_le_bytes([b'\\'; 8]))
}

/// Where the value ends that begins here.
pub(super) fn behind_value(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'"') => behind_string(text, at + 1),
        Some(b'{' | b'[') => behind_brackets(text, at),
        _ => {
            let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
            text.get(at..).and_then(|rest| rest.iter().position(ends)).map_or(text.len(), |length| at + length)
        }
    }
}

/// What a byte means between strings: most mean nothing here.
const MEANING: [u8; 256] = {
    let mut meaning = [0; 256];
    meaning[b'"' as usize] = 1;
    (meaning[b'{' as usize], meaning[b'[' as usize]) = (2, 2);
    (meaning[b'}' as usize], meaning[b']' as usize]) = (3, 3);
    meaning
};

fn behind_brackets(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while let Some(byte) = text.get(at) {
        at += 1;
        match MEANING[usize::from(*byte)] {
            0 => {}
            1 => at = behind_string(text, at),
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

/// The next place that is no white space.
pub(super) fn behind_space(text: &[u8], mut at: usize) -> usize {
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
                assert_eq!(behind_value(format!("{value}{behind}").as_bytes(), 0), value.len(), "{value}{behind}");
            }
        }
    }

    #[test]
    fn what_is_cut_off_ends_with_the_text() {
        let long = format!("\"{}\\", "x".repeat(100));
        for text in ["", "\"", "\"\\", "[", "{\"a", "[\"\\\"", &long] {
            let at = behind_value(text.as_bytes(), 0);
            assert!(at >= text.len() && at <= text.len() + 1, "{text}: {at}");
        }
    }
}
