//! Finds the id of a response that cannot be parsed: it is above the size limit, so that only its head and tail are
//! known, or it is invalid JSON.

/// The number in the top-level member `id`. Members named `id` inside the result are ignored.
pub(crate) fn response_id(head: &[u8], tail: &[u8]) -> Option<u64> {
    id_in_head(head).or_else(|| id_in_tail(tail))
}

fn id_in_head(head: &[u8]) -> Option<u64> {
    let (mut depth, mut at) = (0, 0);
    while at < head.len() {
        match head[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' => {
                if depth == 1
                    && let Some(id) = id_value(&head[at..])
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

/// Only scalar members may follow the `id` before the message ends; otherwise it may belong to a nested object.
fn id_in_tail(tail: &[u8]) -> Option<u64> {
    let at = memchr::memmem::rfind(tail, b"\"id\"")?;
    let (last, rest) = tail[at..].trim_ascii_end().split_last()?;
    let is_flat = !rest.iter().any(|byte| b"{}[]".contains(byte));
    if *last == b'}' && is_flat { id_value(&tail[at..]) } else { None }
}

/// The number after `"id":` at the start of `text`. `None` if the end of the text cuts the number off.
fn id_value(text: &[u8]) -> Option<u64> {
    let value = text.strip_prefix(b"\"id\"")?.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let end = value.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&value[..end]).ok()?.parse().ok()
}

/// The length of the JSON string at the start of `text`, including the quotes.
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
        assert_eq!(response_id(br#"{"jsonrpc":"2.0","id": 17,"result":{"#, b"...}}"), Some(17));
        assert_eq!(response_id(br#"{"result":{"text":""#, br#"..."}},"id":3}"#), Some(3));
        assert_eq!(response_id(br#"{"result":{"text":""#, br#"..."}},"id":3,"jsonrpc":"2.0"}"#), Some(3));
        assert_eq!(response_id(br#"{"jsonrpc":"2.0""#, b"}"), None);
    }

    #[test]
    fn an_id_inside_the_result_is_not_the_messages_own() {
        assert_eq!(response_id(br#"{"result":{"id":5,"a":"\"{","b":""#, br#""},"id":9}"#), Some(9));
        assert_eq!(response_id(br#"{"result":{"id":5"#, br#"{"id":6}]}}"#), None);
        assert_eq!(response_id(br#"{"method":"id","params":"#, b"}"), None);
        assert_eq!(response_id(br#"{"jsonrpc":"2.0","id":12"#, b"}"), None);
    }
}
