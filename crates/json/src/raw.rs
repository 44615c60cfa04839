//! A JSON value kept as the bytes that arrived. The type proves that the text is valid JSON: it is validated once, where
//! it enters the process, and not again when it is read, edited or sent on. No function outside this module turns
//! unchecked text into a [`RawRef`].

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::ser::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A shared raw value; cloning it does not copy the text.
pub type Raw = Arc<RawRef>;

/// A borrowed raw value: one JSON value without white space around it.
#[derive(PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RawRef(str);

impl RawRef {
    pub const NULL: &'static RawRef = RawRef::of("null");
    pub const TRUE: &'static RawRef = RawRef::of("true");
    pub const ZERO: &'static RawRef = RawRef::of("0");
    pub const EMPTY_OBJECT: &'static RawRef = RawRef::of("{}");

    /// Text that is known to be JSON, because it is part of a value that is.
    #[expect(unsafe_code, reason = "no safe cast leads to a type that wraps an unsized one")]
    pub(super) const fn of(text: &str) -> &Self {
        // SAFETY: `RawRef` has the layout of `str` because it is `repr(transparent)`.
        unsafe { &*(std::ptr::from_ref(text) as *const RawRef) }
    }

    /// A constant string, written with its quotes.
    ///
    /// # Panics
    /// If the text is not a JSON string of printable ASCII without escapes; in a constant, at compile time.
    pub const fn string_literal(text: &'static str) -> &'static Self {
        let bytes = text.as_bytes();
        assert!(bytes.len() >= 2 && bytes[0] == b'"' && bytes[bytes.len() - 1] == b'"');
        let mut at = 1;
        while at < bytes.len() - 1 {
            assert!(bytes[at] >= b' ' && bytes[at] < 0x7f && bytes[at] != b'"' && bytes[at] != b'\\');
            at += 1;
        }
        RawRef::of(text)
    }

    pub const fn get(&self) -> &str {
        &self.0
    }

    /// The text of a JSON string; `None` for any other value and for a string with a lone surrogate.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        let inner = self.0.strip_prefix('"')?.strip_suffix('"')?;
        if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
            return Some(inner.into());
        }
        serde_json::from_str::<String>(&self.0).ok().map(Cow::from)
    }
}

/// Text that is known to be JSON, because it was validated or put together from valid parts.
pub(super) fn owned(text: String) -> Raw {
    debug_assert!(serde_json::from_str::<&RawValue>(&text).is_ok_and(|raw| raw.get() == text), "not JSON: {text}");
    shared(text)
}

#[expect(unsafe_code, reason = "no safe cast leads to a type that wraps an unsized one")]
fn shared(text: impl Into<Arc<str>>) -> Raw {
    // SAFETY: `RawRef` has the layout of `str` because it is `repr(transparent)`, and so have the allocations of both.
    unsafe { Arc::from_raw(Arc::into_raw(text.into()) as *const RawRef) }
}

impl ToOwned for RawRef {
    type Owned = Raw;

    fn to_owned(&self) -> Raw {
        shared(&self.0)
    }
}

impl AsRef<RawRef> for RawRef {
    fn as_ref(&self) -> &RawRef {
        self
    }
}

impl fmt::Debug for RawRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RawRef({})", &self.0)
    }
}

impl fmt::Display for RawRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for &'a RawRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|checked| RawRef::of(checked.get()))
    }
}

/// Serde's implementation for `Arc` goes through `Box`, so this is also how a [`Raw`] is deserialized.
impl<'de> Deserialize<'de> for Box<RawRef> {
    #[expect(unsafe_code, reason = "no safe cast leads to a type that wraps an unsized one")]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let checked: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
        // SAFETY: `RawRef` has the layout of `str` because it is `repr(transparent)`, and so have the boxes of both.
        Ok(unsafe { Box::from_raw(Box::into_raw(checked) as *mut RawRef) })
    }
}

/// Serializing validates the text once more: serde_json has no public way to write text as it is without that. Messages
/// are therefore built with [`Edit`](super::Edit), [`array`](super::array) and [`object`](super::object), and serde is
/// for files, journals and the pipe to a worker.
impl Serialize for RawRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0).map_err(S::Error::custom)?.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_and_read_as_the_bytes_it_is() {
        #[derive(Serialize, Deserialize)]
        struct Holder {
            raw: Raw,
        }
        let text = r#"{"raw":{ "n": 1.10,"big":1e400,"s":"\ud800"}}"#;
        let holder: Holder = serde_json::from_str(text).unwrap();
        assert_eq!(holder.raw.get(), r#"{ "n": 1.10,"big":1e400,"s":"\ud800"}"#);
        assert_eq!(serde_json::to_string(&holder).unwrap(), text);
        assert_eq!(super::super::raw(&holder).get(), text);
        assert_eq!(serde_json::to_value(RawRef::of("[1]")).unwrap(), serde_json::json!([1]));
        assert!(serde_json::from_str::<Holder>(r#"{"raw":[1,]}"#).is_err());
    }

    #[test]
    fn the_text_of_a_string_is_what_it_means() {
        for (json, text) in [(r#""""#, Some("")), (r#""a b""#, Some("a b")), (r#""\u0061\"""#, Some("a\""))] {
            assert_eq!(RawRef::of(json).text().as_deref(), text);
        }
        for json in ["1", "null", r#"["a"]"#, r#""\ud800""#] {
            assert_eq!(RawRef::of(json).text(), None, "{json}");
        }
    }

    #[test]
    fn a_string_literal_is_checked() {
        assert_eq!(RawRef::string_literal("\"complete\"").text().as_deref(), Some("complete"));
        for text in ["", "\"", "complete", "\"a\"b\"", "\"a\\\"", "\"\n\""] {
            assert!(std::panic::catch_unwind(|| RawRef::string_literal(text)).is_err(), "{text}");
        }
    }
}
