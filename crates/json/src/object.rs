//! Shallow reading and editing of objects: members stay raw, and an edit changes single members and no other byte.

use std::borrow::Cow;
use std::ops::Range;

use smallvec::SmallVec;

use super::build::push_quoted;
use super::duplicates::{key, repeated};
use super::raw::owned;
use super::scan::{end_of_value, skip_space, string};
use super::{Raw, RawRef};

#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    #[error("not a JSON object")]
    NotAnObject,
    #[error("duplicate member `{0}`")]
    Duplicate(String),
    #[error("the member `{0}` is reserved")]
    Reserved(String),
    #[error("invalid JSON: {0}")]
    Invalid(#[from] serde_json::Error),
}

/// The members of an object, in order, borrowed from its text.
#[derive(Debug)]
pub struct Object<'a> {
    text: &'a str,
    members: Members<'a>,
}

type Members<'a> = Vec<(Cow<'a, str>, &'a RawRef)>;

impl<'a> Object<'a> {
    /// Validates text and reads the members of the object in it.
    pub fn parse(text: &'a str) -> Result<Self, ObjectError> {
        if !text.trim_start().starts_with('{') {
            return Err(ObjectError::NotAnObject);
        }
        Self::of(serde_json::from_str(text)?)
    }

    /// Reads the members of an object. A duplicate member is an error. The members' own members are not checked: see
    /// [`check_unique_keys`](super::check_unique_keys).
    pub fn of(value: &'a RawRef) -> Result<Self, ObjectError> {
        let members = members(value.get())?;
        if let Some(twice) = repeated(members.len(), |index| members[index].0.as_ref()) {
            return Err(ObjectError::Duplicate(members[twice].0.to_string()));
        }
        Ok(Object { text: value.get(), members })
    }

    pub fn get(&self, key: &str) -> Option<&'a RawRef> {
        self.members.iter().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// The text of a member; `None` if it is absent or not a string.
    pub fn string(&self, key: &str) -> Option<String> {
        self.get(key)?.text().map(Cow::into_owned)
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(key, _)| key.as_ref())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawRef)> {
        self.members.iter().map(|(key, value)| (key.as_ref(), *value))
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn edit(&'a self) -> Edit<'a> {
        Edit { object: self, changes: SmallVec::new(), additions: SmallVec::new(), new: String::new() }
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.members.iter().position(|(name, _)| name == key)
    }

    fn range_of(&self, value: &RawRef) -> Range<usize> {
        let start = value.get().as_ptr() as usize - self.text.as_ptr() as usize;
        start..start + value.get().len()
    }
}

/// Changes to an object, written as splices into its text.
#[derive(Debug)]
pub struct Edit<'a> {
    object: &'a Object<'a>,
    /// By the index of the member; `None` removes it. The last change of a member counts.
    changes: SmallVec<[(usize, Option<Range<usize>>); 4]>,
    /// Names and values, as ranges of `new`.
    additions: SmallVec<[(Range<usize>, Range<usize>); 4]>,
    /// The text of what is new, one part after the other.
    new: String,
}

impl Edit<'_> {
    /// Replaces the member, or adds it at the end.
    pub fn set(&mut self, key: &str, value: &RawRef) -> &mut Self {
        let value = self.push(value.get());
        match self.object.position(key) {
            Some(index) => self.changes.push((index, Some(value))),
            None => {
                let (additions, new) = (&mut self.additions, &self.new);
                additions.retain(|(name, _)| new[name.clone()] != *key);
                let name = self.push(key);
                self.additions.push((name, value));
            }
        }
        self
    }

    fn push(&mut self, text: &str) -> Range<usize> {
        let start = self.new.len();
        self.new.push_str(text);
        start..self.new.len()
    }

    pub fn remove(&mut self, key: &str) -> &mut Self {
        if let Some(index) = self.object.position(key) {
            self.changes.push((index, None));
        }
        self
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.additions.is_empty()
    }

    /// The text of the changed object. Every byte that is not part of a change stays, white space included.
    pub fn finish(&self) -> String {
        let text = self.object.text;
        let mut out = String::with_capacity(text.len() + self.new.len() + 64);
        let mut done = text.find('{').map_or(0, |brace| brace + 1);
        out.push_str(&text[..done]);
        let empty = out.len();
        for (index, (_, value)) in self.object.members.iter().enumerate() {
            let range = self.object.range_of(value);
            let mut lead = &text[done..range.start];
            done = range.end;
            let new = match self.changes.iter().rev().find(|(changed, _)| *changed == index) {
                Some((_, None)) => continue,
                Some((_, Some(new))) => &self.new[new.clone()],
                None => value.get(),
            };
            if out.len() == empty {
                // The comma belonged to a removed member.
                lead = lead.trim_start().strip_prefix(',').unwrap_or(lead);
            }
            out.push_str(lead);
            out.push_str(new);
        }
        for (key, value) in &self.additions {
            if out.len() > empty {
                out.push(',');
            }
            push_quoted(&mut out, &self.new[key.clone()]);
            out.push(':');
            out.push_str(&self.new[value.clone()]);
        }
        out.push_str(&text[done..]);
        out
    }

    /// The changed object as a raw value. It needs no validation: all of its parts are raw values.
    pub fn finish_raw(&self) -> Raw {
        owned(self.finish())
    }
}

impl RawRef {
    /// The first member of an object with this name; `None` if there is none, and for any other value. Only where nothing
    /// depends on which of two duplicates counts.
    pub fn member(&self, name: &str) -> Option<&RawRef> {
        MemberScan::of(self.get())?
            .find_map(|member| member.ok().filter(|(key, _)| key == name))
            .map(|(_, value)| value)
    }
}

fn members(text: &str) -> Result<Members<'_>, ObjectError> {
    let mut members = Vec::with_capacity(8);
    for member in MemberScan::of(text).ok_or(ObjectError::NotAnObject)? {
        members.push(member?);
    }
    Ok(members)
}

/// Reads one member of an object after the other.
struct MemberScan<'a> {
    text: &'a str,
    /// Where the next member begins.
    at: usize,
}

impl<'a> MemberScan<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        (bytes.first() == Some(&b'{')).then(|| MemberScan { text, at: skip_space(bytes, 1) })
    }
}

impl<'a> Iterator for MemberScan<'a> {
    type Item = Result<(Cow<'a, str>, &'a RawRef), ObjectError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (text, bytes, at) = (self.text, self.text.as_bytes(), self.at);
        if bytes.get(at) != Some(&b'"') {
            return None;
        }
        let (behind, escaped) = string(bytes, at + 1);
        let colon = skip_space(bytes, behind);
        let start = skip_space(bytes, colon + 1);
        let end = end_of_value(bytes, start);
        let comma = skip_space(bytes, end);
        self.at = skip_space(bytes, comma + 1);
        Some(key(text, at, behind, escaped).map(|key| (key, RawRef::of(&text[start..end]))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw;

    #[test]
    fn replacing_a_member_keeps_every_other_byte() {
        let object = Object::parse(r#"{ "name" : "a", "x":1e400,  "n": 1.10 }"#).unwrap();
        assert_eq!(object.edit().set("name", &raw("b")).finish(), r#"{ "name" : "b", "x":1e400,  "n": 1.10 }"#);
    }

    #[test]
    fn removing_and_adding_keep_every_other_byte() {
        let text = r#"{"a":1, "\u0062":[1.0 ,2] , "c" :3 }"#;
        let object = Object::parse(text).unwrap();
        assert_eq!(object.edit().finish(), text);
        assert_eq!(object.edit().remove("a").set("d", &raw(&4)).finish(), r#"{ "\u0062":[1.0 ,2] , "c" :3,"d":4 }"#);
        assert_eq!(object.edit().remove("b").finish(), r#"{"a":1 , "c" :3 }"#);
        assert_eq!(object.edit().remove("a").remove("b").set("c", &raw(&5)).finish(), r#"{ "c" :5 }"#);
        assert_eq!(object.edit().remove("a").remove("b").remove("c").finish(), "{ }");
        assert_eq!(object.edit().remove("a").remove("b").remove("c").set("d", &raw(&4)).finish(), r#"{"d":4 }"#);
        assert_eq!(Object::parse("{}").unwrap().edit().set("d", &raw(&4)).finish(), r#"{"d":4}"#);
    }

    #[test]
    fn members_are_found_whatever_stands_around_them() {
        let text = "{\n \"a\" :\t[1, {\"x\":\"]}\"}] ,\"\\u0062\":\"\\\"\",\"\":-1.5e3\r}";
        let object = Object::parse(text).unwrap();
        let members: Vec<_> = object.iter().map(|(key, value)| (key, value.get())).collect();
        assert_eq!(members, [("a", "[1, {\"x\":\"]}\"}]"), ("b", "\"\\\"\""), ("", "-1.5e3")]);
        assert_eq!(Object::parse(" { } ").unwrap().len(), 0);
        for text in ["[1]", "", "1", "\"{\""] {
            assert!(matches!(Object::parse(text), Err(ObjectError::NotAnObject)), "{text}");
        }
        for text in ["{\"a\":}", "{\"a\":1,}", "{\"a\":1", "{\"\\ud800\":1}"] {
            assert!(matches!(Object::parse(text), Err(ObjectError::Invalid(_))), "{text}");
        }
    }

    #[test]
    fn a_single_member_is_found_without_the_others() {
        let value = crate::valid(r#"{"\ud800":0,"a":[1,{"b":2}],"\u0062":"x","b":3}"#.to_owned()).unwrap();
        assert_eq!(value.member("a").map(RawRef::get), Some(r#"[1,{"b":2}]"#));
        assert_eq!(value.member("b").map(RawRef::get), Some("\"x\""), "the first one");
        assert_eq!(value.member("c"), None);
        assert_eq!(value.member("a").unwrap().member("b"), None, "no object");
    }

    #[test]
    fn a_member_that_occurs_twice_is_refused() {
        assert!(matches!(Object::parse(r#"{"a":1,"\u0061":2}"#), Err(ObjectError::Duplicate(key)) if key == "a"));
    }
}
