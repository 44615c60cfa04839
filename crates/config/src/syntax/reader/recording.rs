//! Records which keys and types the config readers request, instead of reading a config. A JSON Schema generated from this
//! record cannot differ from what the readers check.

use std::cell::RefCell;

use super::ValueReader;

/// What a reader expects of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Not known yet.
    Unknown,
    String,
    /// A string, a number or a Boolean, taken as text.
    Text,
    Boolean,
    /// An integer of at least this.
    Integer(usize),
    /// A number between 0 and 1.
    Fraction,
    Duration,
    /// A duration or `off`.
    DurationOrOff,
    Size,
    Choice(Vec<String>),
    /// Any JSON.
    Any,
    /// Any map.
    AnyMap,
    /// A map with fixed keys.
    Fields,
    /// A map with fixed keys, or a string in its place.
    FieldsOrString,
    /// A map with arbitrary keys.
    Map,
    List,
}

/// The name of the single entry of a recorded map.
pub(crate) const ANY_KEY: &str = "*";
/// The end of the path of the single item of a recorded list.
pub(crate) const ITEM: &str = "[0]";

/// What was asked for, by path, in order.
#[derive(Debug, Default)]
pub(crate) struct Recording(RefCell<Vec<(String, Shape)>>);

impl Recording {
    pub(crate) fn into_inner(self) -> Vec<(String, Shape)> {
        self.0.into_inner()
    }

    fn add(&self, path: &str, shape: Shape) {
        let mut found = self.0.borrow_mut();
        match found.iter_mut().find(|(known, _)| known == path) {
            Some((_, known)) if *known == Shape::Unknown => *known = shape,
            Some(_) => {}
            None => found.push((path.to_owned(), shape)),
        }
    }
}

impl<'a> ValueReader<'a> {
    /// Records what is expected. Returns whether the config is only recorded, so that the reader returns any value.
    pub(super) fn records(&self, shape: impl FnOnce() -> Shape) -> bool {
        let Some(recording) = &self.context.recording else { return false };
        recording.add(&self.path, shape());
        true
    }

    /// A value below this one that stands for every value there.
    pub(super) fn recorded_child(&self, path: String) -> ValueReader<'a> {
        let child = ValueReader { context: self.context, node: self.node, key: None, path };
        child.records(|| Shape::Unknown);
        child
    }
}
