//! Extracts the id and kind of a message that cannot be parsed, because it is invalid JSON or exceeds the size limit, so
//! that only its head and tail are known.

use super::Id;

/// The id of a message, in its top-level member `id`. Members named `id` inside other members are ignored.
pub fn message_id(head: &[u8], tail: &[u8]) -> Option<Id> {
    id_in_head(head).or_else(|| id_in_tail(tail))
}

/// Whether the head of a message shows that it is a response.
pub fn is_response(head: &[u8]) -> bool {
    top_level(head).any(|text| [&b"\"result\""[..], b"\"error\""].iter().any(|name| value_of(text, name).is_some()))
}

/// Whether the head of a message shows that it is a request or a notification.
pub fn has_method(head: &[u8]) -> bool {
    top_level(head).any(|text| value_of(text, b"\"method\"").is_some())
}

fn id_in_head(head: &[u8]) -> Option<Id> {
    top_level(head).find_map(id_value)
}

/// Only scalar members may follow the `id` before the message ends; otherwise it may belong to a nested object.
fn id_in_tail(tail: &[u8]) -> Option<Id> {
    let at = memchr::memmem::rfind(tail, b"\"id\"")?;
    let (last, rest) = tail[at..].trim_ascii_end().split_last()?;
    let is_flat = !rest.iter().any(|byte| b"{}[]".contains(byte));
    if *last == b'}' && is_flat { id_value(&tail[at..]) } else { None }
}

/// The rest of the text from each string on that is not inside a nested object or array: the names and the strings of
/// the message itself.
fn top_level(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut depth, mut at) = (0, 0);
    std::iter::from_fn(move || {
        while at < head.len() {
            let here = at;
            match head[at] {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                b'"' => at += closed_string(&head[at..]).unwrap_or(head.len() - at) - 1,
                _ => {}
            }
            at += 1;
            if head[here] == b'"' && depth == 1 {
                return Some(&head[here..]);
            }
        }
        None
    })
}

/// The text after the name and the colon, if `text` begins with that member.
fn value_of<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    Some(text.strip_prefix(name)?.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start())
}

/// The id after `"id":` at the start of `text`. `None` if the end of the text cuts the id off.
fn id_value(text: &[u8]) -> Option<Id> {
    let value = value_of(text, b"\"id\"")?;
    let end = match value.first()? {
        b'"' => closed_string(value)?,
        _ => value.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'-')?,
    };
    let (token, rest) = value.split_at(end);
    let ends = matches!(rest.trim_ascii_start().first()?, b',' | b'}');
    Id::parse(std::str::from_utf8(token).ok()?).filter(|_| ends)
}

/// The length of the JSON string at the start of `text`, including the quotes. `None` if the end of the text cuts it off.
fn closed_string(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.iter().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return Some(at + 1),
            _ => escaped = *byte == b'\\' && !escaped,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(head: &[u8], tail: &[u8]) -> Option<String> {
        message_id(head, tail).map(|id| id.to_string())
    }

    #[test]
    fn the_id_is_found_at_either_end() {
        assert_eq!(id(br#"{"jsonrpc":"2.0","id": 17,"result":{"#, b"...}}").as_deref(), Some("17"));
        assert_eq!(id(br#"{"result":{"text":""#, br#"..."}},"id":3}"#).as_deref(), Some("3"));
        assert_eq!(id(br#"{"result":{"text":""#, br#"..."}},"id":3,"jsonrpc":"2.0"}"#).as_deref(), Some("3"));
        assert_eq!(id(br#"{"method":"x","id":"a-\"7","params":"#, b"}").as_deref(), Some(r#""a-\"7""#));
        assert_eq!(id(br#"{"method":"x","params":{"a":""#, br#"..."},"id":"q"}"#).as_deref(), Some(r#""q""#));
        assert_eq!(id(br#"{"jsonrpc":"2.0""#, b"}"), None);
    }

    #[test]
    fn an_id_inside_another_member_is_not_the_messages_own() {
        assert_eq!(id(br#"{"result":{"id":5,"a":"\"{","b":""#, br#""},"id":9}"#).as_deref(), Some("9"));
        assert_eq!(id(br#"{"result":{"id":5"#, br#"{"id":6}]}}"#), None);
        assert_eq!(id(br#"{"method":"id","params":"#, b"}"), None);
        assert_eq!(id(br#"{"jsonrpc":"2.0","id":12"#, b"}"), None);
        assert_eq!(id(br#"{"jsonrpc":"2.0","id":"cut o"#, b"}"), None);
        assert_eq!(id(br#"{"jsonrpc":"2.0","id":"cut \""#, b"}"), None);
        assert_eq!(id(br#"{"jsonrpc":"2.0","id":1.5,"method":"x","#, b"}"), None);
        assert_eq!(id(br#"{"jsonrpc":"2.0","id":null,"method":"x","#, b"}"), None);
    }

    #[test]
    fn a_response_and_a_request_show_that_they_are_one() {
        assert!(is_response(br#"{"jsonrpc":"2.0","id":1,"result":{"#));
        assert!(!is_response(br#"{"id":1,"method":"result","params":{"result":{"#));
        assert!(has_method(br#"{"id":1,"method":"result","params":{"result":{"#));
        assert!(!has_method(br#"{"id":1,"result":{"method":"#));
    }
}
