//! Whom a message answers that cannot be read: it is too long, and only its beginning and its end are known, or it is
//! broken.

/// The number that is the message's own `id`, wherever it stands; an `id` inside the result is somebody else's.
pub(crate) fn answered(head: &[u8], tail: &[u8]) -> Option<u64> {
    near_the_beginning(head).or_else(|| near_the_end(tail))
}

fn near_the_beginning(head: &[u8]) -> Option<u64> {
    let (mut depth, mut at) = (0, 0);
    while at < head.len() {
        match head[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' => {
                if depth == 1
                    && let Some(id) = member(&head[at..])
                {
                    return Some(id);
                }
                at += string_length(&head[at..]) - 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The last member of all: nothing but flat members may follow it before the message ends.
fn near_the_end(tail: &[u8]) -> Option<u64> {
    let at = memchr::memmem::rfind(tail, b"\"id\"")?;
    let (last, rest) = tail[at..].trim_ascii_end().split_last()?;
    let flat = !rest.iter().any(|byte| b"{}[]".contains(byte));
    if *last == b'}' && flat { member(&tail[at..]) } else { None }
}

/// The number behind `"id":` at the very beginning of `text`. A number that the end of the text cuts off is none.
fn member(text: &[u8]) -> Option<u64> {
    let value = text.strip_prefix(b"\"id\"")?.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let end = value.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&value[..end]).ok()?.parse().ok()
}

/// The length of the string that `text` begins with, quotes included.
fn string_length(text: &[u8]) -> usize {
    let mut escaped = false;
    for (at, byte) in text.iter().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            _ => escaped = *byte == b'\\' && !escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_at_either_end() {
        assert_eq!(answered(br#"{"jsonrpc":"2.0","id": 17,"result":{"#, b"...}}"), Some(17));
        assert_eq!(answered(br#"{"result":{"text":""#, br#"..."}},"id":3}"#), Some(3));
        assert_eq!(answered(br#"{"result":{"text":""#, br#"..."}},"id":3,"jsonrpc":"2.0"}"#), Some(3));
        assert_eq!(answered(br#"{"jsonrpc":"2.0""#, b"}"), None);
    }

    #[test]
    fn an_id_inside_the_result_is_not_the_messages_own() {
        assert_eq!(answered(br#"{"result":{"id":5,"a":"\"{","b":""#, br#""},"id":9}"#), Some(9));
        assert_eq!(answered(br#"{"result":{"id":5"#, br#"{"id":6}]}}"#), None);
        assert_eq!(answered(br#"{"method":"id","params":"#, b"}"), None);
        assert_eq!(answered(br#"{"jsonrpc":"2.0","id":12"#, b"}"), None);
    }
}
