//! Values from files, credentials and commands, as a reader meets them.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use proxy_model::Secret;

use super::{ReadContext, ValueReader};
use crate::syntax::sources::{Source, SourceProblem, Sources};
use crate::syntax::substitute::{sources_in, substitute};

/// A value that may be unread when the config is: it comes from a credential or a command.
#[derive(Clone, Debug, PartialEq)]
pub struct LateValue {
    /// The key below the entry of the server: `env.TOKEN`, `args[1]`.
    pub key: String,
    /// The text with the source as it is written.
    pub(crate) written: Secret,
}

/// Which sources one reading of a config has met.
#[derive(Default)]
pub(super) struct FoundSources<'a> {
    /// `None` while only a part of the config is known: then there are no sources.
    values: Option<&'a Sources<'a>>,
    /// Whether an entry is read that is not used.
    is_unused: Cell<bool>,
    /// Where the values begin that were left unread.
    unread: RefCell<HashSet<usize>>,
    unread_keys: RefCell<Vec<UnreadKey>>,
    /// With the whole path of each.
    late: RefCell<Vec<LateValue>>,
}

/// The key of a value that was left unread.
struct UnreadKey {
    path: String,
    /// Whether its entry is used.
    is_used: bool,
}

/// The sources in the entry of a server.
#[derive(Debug, Default)]
pub(crate) struct EntrySources {
    pub(crate) late: Vec<LateValue>,
    /// The keys of values that were left unread.
    pub(crate) unread: Vec<String>,
}

impl<'a> ReadContext<'a> {
    pub(crate) fn with_sources(mut self, values: &'a Sources<'a>) -> Self {
        self.sources.values = Some(values);
        self
    }

    /// The keys of values that were left unread, but those of disabled servers.
    pub(crate) fn unread_keys(&self) -> Vec<String> {
        self.sources.unread_keys.borrow().iter().filter(|key| key.is_used).map(|key| key.path.clone()).collect()
    }
}

impl ValueReader<'_> {
    /// Whether this value was left unread.
    pub(crate) fn is_unread(&self) -> bool {
        self.context.sources.unread.borrow().contains(&self.node.span.start)
    }

    pub(super) fn source_value(&self, source: &Source) -> Result<Option<String>, SourceProblem> {
        let found = &self.context.sources;
        let Some(values) = found.values else {
            let hint = "write the text itself, or a variable";
            return Err(SourceProblem::new("a file, a credential or a command cannot be used here", hint));
        };
        let value = if found.is_unused.get() { None } else { values.value(source, self.folder())? };
        if value.is_none() {
            found.unread.borrow_mut().insert(self.node.span.start);
            let key = UnreadKey { path: self.path.clone(), is_used: !found.is_unused.get() };
            found.unread_keys.borrow_mut().push(key);
        }
        Ok(value.map(|value| value.reveal().to_owned()))
    }

    /// Notes that a value comes from a credential or a command, if it does.
    pub(super) fn note_sources(&self, text: &str) {
        if sources_in(text).iter().all(|source| matches!(source, Source::File(_))) {
            return;
        }
        let written = substitute(text, self.context.environment, &mut |source| self.file_value(source));
        let late = LateValue { key: self.path.clone(), written: Secret::new(written.unwrap_or_default()) };
        self.context.sources.late.borrow_mut().push(late);
    }

    /// The value of a file; other sources stay as they are written.
    fn file_value(&self, source: &Source) -> Result<Option<String>, SourceProblem> {
        let found = &self.context.sources;
        match (source, found.values) {
            (Source::File(_), Some(values)) if !found.is_unused.get() => {
                let value = values.value(source, self.folder())?;
                Ok(value.map(|value| value.reveal().to_owned()))
            }
            _ => Ok(None),
        }
    }

    /// Whether a key below this one is written as `true`.
    pub(crate) fn says(&self, key: &str) -> Option<bool> {
        match self.node.get(key)?.value {
            crate::syntax::tree::Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Reads an entry, and returns the sources in it. None is read if the entry is not used.
    pub(crate) fn taking_sources<T>(&self, is_unused: bool, read: impl FnOnce() -> T) -> (T, EntrySources) {
        let found = &self.context.sources;
        let late = found.late.borrow().len();
        let unread = found.unread_keys.borrow().len();
        found.is_unused.set(is_unused);
        let value = read();
        found.is_unused.set(false);
        let below = format!("{}.", self.path);
        let mut own = EntrySources {
            late: found.late.borrow_mut().split_off(late),
            unread: found.unread_keys.borrow()[unread..].iter().map(|key| key.path.clone()).collect(),
        };
        for value in &mut own.late {
            value.key = value.key.strip_prefix(&below).unwrap_or(&value.key).to_owned();
        }
        (value, own)
    }
}
