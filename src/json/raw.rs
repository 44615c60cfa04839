//! A JSON value kept as the bytes that came in. Whoever has one knows that it is JSON: it is checked where it comes from,
//! and never again, however often it is looked into and changed on its way.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A shared one: whoever else wants to keep it need not copy it.
pub type Raw = Arc<RawRef>;

/// A borrowed one: one value of JSON, without white space around it.
#[derive(PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RawRef(str);

impl RawRef {
    pub const NULL: &'static RawRef = RawRef::of("null");
    pub const EMPTY_OBJECT: &'static RawRef = RawRef::of("{}");

    /// What is known to be JSON, because it is a part of something that is.
    #[expect(unsafe_code, reason = "no safe cast leads to a type that wraps an unsized one")]
    pub(super) const fn of(text: &str) -> &Self {
        // SAFETY: it is the same as a `str`, by `repr(transparent)`.
        unsafe { &*(std::ptr::from_ref(text) as *const RawRef) }
    }

    pub const fn get(&self) -> &str {
        &self.0
    }

    /// The text, if it is a string that can be text.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        let inner = self.0.strip_prefix('"')?.strip_suffix('"')?;
        if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
            return Some(inner.into());
        }
        serde_json::from_str::<String>(&self.0).ok().map(Cow::from)
    }
}

/// Text that is known to be JSON: somebody has checked it, or put it together from what is.
pub(super) fn owned(text: String) -> Raw {
    debug_assert!(serde_json::from_str::<&RawValue>(&text).is_ok_and(|raw| raw.get() == text), "not JSON: {text}");
    shared(text)
}

#[expect(unsafe_code, reason = "no safe cast leads to a type that wraps an unsized one")]
fn shared(text: impl Into<Arc<str>>) -> Raw {
    // SAFETY: it is the same as a `str`, by `repr(transparent)`, and so is what holds either.
    unsafe { Arc::from_raw(Arc::into_raw(text.into()) as *const RawRef) }
}

impl ToOwned for RawRef {
    type Owned = Raw;

    fn to_owned(&self) -> Raw {
        shared(&self.0)
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

/// By which a shared one is read, too.
impl<'de> Deserialize<'de> for Box<RawRef> {
    #[expect(unsafe_code, reason = "no safe cast leads to a type that wraps an unsized one")]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let checked: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
        // SAFETY: it is the same as a `str`, by `repr(transparent)`, and so are the boxes of either.
        Ok(unsafe { Box::from_raw(Box::into_raw(checked) as *mut RawRef) })
    }
}

/// By which the serialiser knows what it need not quote: as its own raw values do it. They could only be made by checking
/// the text once more.
const TOKEN: &str = "$serde_json::private::RawValue";

impl Serialize for RawRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(TOKEN, 1)?;
        raw.serialize_field(TOKEN, &self.0)?;
        raw.end()
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
}
