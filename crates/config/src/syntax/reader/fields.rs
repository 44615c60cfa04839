//! The fixed keys of a map. Requesting a key makes it a known one, so the list of known keys exists only once.

use proxy_base::diagnostic::{Diagnostic, nearest};

use super::ValueReader;
use crate::syntax::tree::{Node, NodeKey, Value, join};

pub(crate) struct Fields<'a> {
    reader: ValueReader<'a>,
    entries: &'a [(NodeKey, Node)],
    known: Vec<&'static str>,
    refused: Vec<(&'static str, &'static str, &'static str)>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(reader: ValueReader<'a>, entries: &'a [(NodeKey, Node)]) -> Self {
        Fields { reader, entries, known: Vec::new(), refused: Vec::new() }
    }

    /// The value of a key. A key without a value counts as absent, because its content may be commented out.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<ValueReader<'a>> {
        self.known.push(key);
        if self.reader.context.recording.is_some() {
            return Some(self.reader.recorded_child(join(&self.reader.path, key)));
        }
        let (key, node) = self.entries.iter().find(|(candidate, _)| candidate.text == key)?;
        (node.value != Value::Null).then(|| self.reader.child(key, node))
    }

    pub(crate) fn read<T>(&mut self, key: &'static str, read: impl FnOnce(&ValueReader<'a>) -> Option<T>) -> Option<T> {
        self.get(key).and_then(|reader| read(&reader))
    }

    /// Replaces a default by the value in the file, if there is one.
    pub(crate) fn set<T>(
        &mut self,
        target: &mut T,
        key: &'static str,
        read: impl FnOnce(&ValueReader<'a>) -> Option<T>,
    ) {
        if let Some(value) = self.read(key, read) {
            *target = value;
        }
    }

    /// Declares keys that are errors although people may expect them here, with the reason and what to do.
    pub(crate) fn refuse(&mut self, keys: &[&'static str], reason: &'static str, hint: &'static str) {
        self.refused.extend(keys.iter().map(|key| (*key, reason, hint)));
    }

    /// Reports every key that was not requested, or that was refused.
    pub(crate) fn finish(mut self) {
        let is_refused = |key: &str| self.refused.iter().any(|(refused, ..)| *refused == key);
        self.known.retain(|key| !is_refused(key));
        for (key, value) in self.entries {
            let is_absent = value.value == Value::Null && is_refused(&key.text);
            if !is_absent && !self.known.contains(&key.text.as_str()) {
                self.reader.report(self.unknown(key));
            }
        }
    }

    fn unknown(&self, key: &NodeKey) -> Diagnostic {
        let place = self.reader.context.document.place(key.span.clone());
        let path = join(&self.reader.path, &key.text);
        if let Some((_, reason, hint)) = self.refused.iter().find(|(refused, ..)| *refused == key.text) {
            return Diagnostic::error(format!("`{path}` {reason}")).at(place).hint(*hint);
        }
        let hint = match nearest(&key.text, self.known.iter().copied()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("known keys here: {}", self.known.join(", ")),
        };
        Diagnostic::error(format!("unknown key `{path}`")).at(place).hint(hint)
    }
}
