//! A cursor over the tree that reads typed values and collects all errors, not only the first.

mod fields;
mod recording;
mod scalars;
mod sources;

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use proxy_base::diagnostic::{Diagnostic, Location};

use super::document::ConfigDocument;
use super::mask::is_masked;
use super::substitute::VariableLookup;
use super::tree::{Node, NodeKey, Span, Value, join};

pub(crate) use fields::Fields;
pub(crate) use recording::{ANY_KEY, ITEM, Recording, Shape};
pub use scalars::BlockPosition;
use sources::FoundSources;
pub use sources::LateValue;

/// The state that all readers of one file share.
pub(crate) struct ReadContext<'a> {
    document: &'a ConfigDocument,
    environment: &'a VariableLookup<'a>,
    found: RefCell<Vec<Diagnostic>>,
    /// Variables that are not set. A server entry takes its own, so that only this server fails.
    unset: RefCell<Vec<Diagnostic>>,
    sources: FoundSources<'a>,
    /// If set, nothing is read; the requested keys are recorded.
    recording: Option<Recording>,
}

impl<'a> ReadContext<'a> {
    pub(crate) fn new(document: &'a ConfigDocument, environment: &'a VariableLookup<'a>) -> Self {
        ReadContext {
            found: RefCell::new(document.repeated_keys().collect()),
            ..ReadContext::of_part(document, environment)
        }
    }

    /// A context for a part of a document that is still being read.
    pub(crate) fn of_part(document: &'a ConfigDocument, environment: &'a VariableLookup<'a>) -> Self {
        ReadContext {
            document,
            environment,
            found: RefCell::default(),
            unset: RefCell::default(),
            sources: FoundSources::default(),
            recording: None,
        }
    }

    /// A context that records the requested keys.
    pub(crate) fn recording(document: &'a ConfigDocument, environment: &'a VariableLookup<'a>) -> Self {
        ReadContext { recording: Some(Recording::default()), ..ReadContext::new(document, environment) }
    }

    /// The requested keys by path, in order.
    pub(crate) fn recorded(self) -> Vec<(String, Shape)> {
        self.recording.map(Recording::into_inner).unwrap_or_default()
    }

    pub(crate) fn root(&'a self) -> ValueReader<'a> {
        ValueReader { context: self, node: &self.document.root, key: None, path: String::new() }
    }

    /// The value of a top-level key.
    pub(crate) fn at(&'a self, node: &'a Node, key: &str) -> ValueReader<'a> {
        ValueReader { context: self, node, key: None, path: key.to_owned() }
    }

    pub(crate) fn report(&self, diagnostic: Diagnostic) {
        self.found.borrow_mut().push(diagnostic);
    }

    /// Everything reported, in the order of the file.
    pub(crate) fn finish(self) -> Vec<Diagnostic> {
        let mut found = self.found.into_inner();
        found.extend(self.unset.into_inner());
        found.sort_by_key(|diagnostic| self.document.order(diagnostic));
        found
    }
}

/// One value of the file with its path. Each reading method reports its errors and returns `None` if there are any.
#[derive(Clone)]
pub(crate) struct ValueReader<'a> {
    context: &'a ReadContext<'a>,
    node: &'a Node,
    key: Option<&'a NodeKey>,
    path: String,
}

impl<'a> ValueReader<'a> {
    fn child(&self, key: &'a NodeKey, node: &'a Node) -> ValueReader<'a> {
        ValueReader { context: self.context, node, key: Some(key), path: join(&self.path, &key.text) }
    }

    /// The keys of a map with fixed keys.
    pub(crate) fn fields(&self) -> Option<Fields<'a>> {
        if self.records(|| Shape::Fields) {
            return Some(Fields::new(self.clone(), &[]));
        }
        self.entries().map(|entries| Fields::new(self.clone(), entries))
    }

    /// The keys of a map with fixed keys; `None` if there is a string in its place, which [`Self::string`] reads.
    pub(crate) fn fields_or_string(&self) -> Option<Option<Fields<'a>>> {
        if self.records(|| Shape::FieldsOrString) {
            return Some(Some(Fields::new(self.clone(), &[])));
        }
        match &self.node.value {
            Value::String(_) => Some(None),
            _ => self.fields().map(Some),
        }
    }

    /// The entries of a map with arbitrary keys, each read by `read`; those that fail are omitted.
    pub(crate) fn map<T>(&self, mut read: impl FnMut(&str, &ValueReader<'a>) -> Option<T>) -> Option<Vec<(String, T)>> {
        if self.records(|| Shape::Map) {
            let read = read(ANY_KEY, &self.recorded_child(join(&self.path, ANY_KEY)));
            return Some(read.map(|value| (ANY_KEY.to_owned(), value)).into_iter().collect());
        }
        let entries = self.entries()?.iter();
        let read = entries.filter_map(|(key, node)| Some((key.text.clone(), read(&key.text, &self.child(key, node))?)));
        Some(read.collect())
    }

    /// The items of a list, each read by `read`; those that fail are omitted.
    pub(crate) fn list<T>(&self, mut read: impl FnMut(&ValueReader<'a>) -> Option<T>) -> Option<Vec<T>> {
        if self.records(|| Shape::List) {
            return Some(read(&self.recorded_child(format!("{}{ITEM}", self.path))).into_iter().collect());
        }
        let Value::List(items) = &self.node.value else { return self.expected("a list") };
        let item = |(index, node)| {
            let path = format!("{}[{index}]", self.path);
            read(&ValueReader { context: self.context, node, key: None, path })
        };
        Some(items.iter().enumerate().filter_map(item).collect())
    }

    fn entries(&self) -> Option<&'a [(NodeKey, Node)]> {
        match &self.node.value {
            Value::Map(entries) => Some(entries),
            // An empty file, or one with comments only.
            Value::Null if self.path.is_empty() => Some(&[]),
            Value::String(text) if lacks_space(text) => {
                let problem = self.problem("expected a map of keys and values, found a string");
                self.report(problem.hint("write a space behind the `:` of a key: `key: value`"));
                None
            }
            _ => self.expected("a map of keys and values"),
        }
    }

    /// Reports that another kind of value was expected, and returns `None`.
    pub(crate) fn expected<T>(&self, what: &str) -> Option<T> {
        let found = match &self.node.value {
            Value::Null => "nothing".to_owned(),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a map".to_owned(),
            Value::Block(_) => "a multi-line string".to_owned(),
            _ => format!("`{}`", self.context.document.shown(&self.node.span)),
        };
        self.fail(&format!("expected {what}, found {found}"))
    }

    /// Reports a problem with this value, and returns `None`.
    pub(crate) fn fail<T>(&self, problem: &str) -> Option<T> {
        self.report(self.problem(problem));
        None
    }

    pub(crate) fn report(&self, diagnostic: Diagnostic) {
        // What has to be said of a value is known when it has been read.
        if !self.is_unread() {
            self.context.report(diagnostic);
        }
    }

    /// Runs a reader, and returns its value with the unset variables that it needs. These are then not reported as errors.
    pub(crate) fn taking_unset<T>(&self, read: impl FnOnce() -> T) -> (T, Vec<Diagnostic>) {
        let before = self.context.unset.borrow().len();
        let reported = self.context.found.borrow().len();
        let value = read();
        let unset = self.context.unset.borrow_mut().split_off(before);
        if !unset.is_empty() {
            // A key whose value is not known seems to be missing.
            let mut found = self.context.found.borrow_mut();
            let own = found.split_off(reported);
            let follows =
                |problem: &Diagnostic| ["missing key", "requires `"].iter().any(|sign| problem.message.contains(sign));
            found.extend(own.into_iter().filter(|problem| !follows(problem)));
        }
        (value, unset)
    }

    /// The path of the key: `mcpServers.github.env`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// An error with the path and the location of this value.
    pub(crate) fn problem(&self, problem: &str) -> Diagnostic {
        let message = if self.path.is_empty() {
            format!("the config file: {problem}")
        } else {
            format!("`{}`: {problem}", self.path)
        };
        Diagnostic::error(message).at(self.value_place())
    }

    /// The base of a relative path in this value: the folder of its file.
    pub(crate) fn folder(&self) -> &'a Path {
        self.context.document.folder(&self.node.span)
    }

    /// A path, relative to the folder of its file.
    pub(crate) fn path_value(&self) -> Option<PathBuf> {
        Some(self.folder().join(self.word()?))
    }

    /// The location of the key, or of the value if it has no key.
    pub(crate) fn place(&self) -> Location {
        self.key.map_or_else(|| self.value_place(), |key| self.context.document.place(key.span.clone()))
    }

    /// The location of the value if it fits on one line, or else of its key, so that diagnostics underline little text.
    fn value_place(&self) -> Location {
        let span = self.node.span.clone();
        let one_line = !span.is_empty() && !self.context.document.shown(&span).contains('\n');
        match self.key {
            Some(key) if !one_line => self.context.document.place(key.span.clone()),
            _ => self.context.document.place(self.first_line(span)),
        }
    }

    fn first_line(&self, span: Span) -> Span {
        let length = self.context.document.shown(&span).find('\n').unwrap_or(span.len());
        span.start..span.start + length
    }

    /// A value below this one as it is written, before any substitution: its scalars in order, with masks for secrets.
    pub(crate) fn written(&self, key: &str) -> Option<Vec<String>> {
        let mut texts = Vec::new();
        self.collect_written(self.node.get(key)?, &mut texts);
        Some(texts)
    }

    fn collect_written(&self, node: &Node, texts: &mut Vec<String>) {
        let shown = self.context.document.shown(&node.span);
        match &node.value {
            Value::List(items) => items.iter().for_each(|item| self.collect_written(item, texts)),
            _ if is_masked(shown) => texts.push("***".to_owned()),
            Value::String(text) | Value::Block(text) | Value::Number(text) => texts.push(text.clone()),
            Value::Bool(value) => texts.push(value.to_string()),
            Value::Null | Value::Map(_) => {}
        }
    }

    /// Whether this is an empty list or map.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.node.value {
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.is_empty(),
            _ => false,
        }
    }
}

/// Whether a text looks like a key and its value without the space between them: `command:npx`.
fn lacks_space(text: &str) -> bool {
    let Some((key, value)) = text.split_once(':') else { return false };
    let is_key =
        !key.is_empty() && key.chars().all(|character| character.is_alphanumeric() || "_-".contains(character));
    is_key && !value.is_empty() && !value.starts_with([' ', '/'])
}
