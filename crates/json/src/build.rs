//! Builds raw values from Rust values, from text and from other raw values.

use super::raw::owned;
use super::{Raw, RawRef};

/// Serializes a value. A value that JSON cannot express (a map with keys that are not strings) becomes `null`.
pub fn raw(value: &(impl serde::Serialize + ?Sized)) -> Raw {
    serde_json::to_string(value).map_or_else(|_| RawRef::NULL.to_owned(), owned)
}

/// Validates text.
pub fn valid(text: String) -> Result<Raw, serde_json::Error> {
    let checked: &RawRef = serde_json::from_str(&text)?;
    Ok(if checked.get().len() == text.len() { owned(text) } else { checked.to_owned() })
}

/// An array of these items.
pub fn array(items: impl IntoIterator<Item = impl AsRef<RawRef>>) -> Raw {
    let mut out = String::from("[");
    for item in items {
        separate(&mut out);
        out.push_str(item.as_ref().get());
    }
    out.push(']');
    owned(out)
}

/// An object with these members. Their names must differ.
pub fn object(members: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<RawRef>)>) -> Raw {
    let mut out = String::from("{");
    for (key, value) in members {
        separate(&mut out);
        push_quoted(&mut out, key.as_ref());
        out.push(':');
        out.push_str(value.as_ref().get());
    }
    out.push('}');
    owned(out)
}

fn separate(out: &mut String) {
    if out.len() > 1 {
        out.push(',');
    }
}

/// The text of a JSON string with this content.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    push_quoted(&mut quoted, text);
    quoted
}

/// Appends the text of a JSON string with this content.
pub fn push_quoted(out: &mut String, text: &str) {
    if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        out.push_str(&serde_json::Value::from(text).to_string());
        return;
    }
    // Nearly all names and keys need no escapes.
    out.push('"');
    out.push_str(text);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_quoted_as_json_wants_it() {
        for text in ["", "tools/call", "\"", "\\", "a\nb", "\u{1}", "\u{7f}", "ä\u{2028}"] {
            assert_eq!(quote(text), serde_json::to_string(text).unwrap());
        }
    }

    #[test]
    fn arrays_and_objects_hold_their_parts_unchanged() {
        let number = valid("1.10".to_owned()).unwrap();
        assert_eq!(array([&*number, RawRef::NULL]).get(), "[1.10,null]");
        assert_eq!(array([RawRef::NULL; 0]).get(), "[]");
        assert_eq!(object([("a\"", &number), ("b", &raw("x"))]).get(), r#"{"a\"":1.10,"b":"x"}"#);
        assert_eq!(object([("", RawRef::NULL); 0]).get(), "{}");
    }
}
