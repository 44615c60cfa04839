//! A cursor over the tree that reads typed values and collects every error on the way, not only the first.

mod fields;
mod scalars;

use std::cell::RefCell;

use crate::diagnostic::{Diagnostic, Place};

use super::document::Document;
use super::substitute::Environment;
use super::tree::{Key, Node, Span, Value, join};

pub(super) use fields::Fields;
pub use scalars::BlockPosition;

/// What all readers of one file share.
pub(super) struct Context<'a> {
    document: &'a Document,
    environment: &'a Environment<'a>,
    found: RefCell<Vec<Diagnostic>>,
}

impl<'a> Context<'a> {
    pub(super) fn new(document: &'a Document, environment: &'a Environment<'a>) -> Self {
        Context { document, environment, found: RefCell::new(document.repeated_keys().collect()) }
    }

    pub(super) fn root(&'a self) -> Reader<'a> {
        Reader { context: self, node: &self.document.root, key: None, path: String::new() }
    }

    pub(super) fn report(&self, diagnostic: Diagnostic) {
        self.found.borrow_mut().push(diagnostic);
    }

    /// Everything reported, in the order of the file.
    pub(super) fn finish(self) -> Vec<Diagnostic> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|diagnostic| diagnostic.place.as_ref().map_or(0, |place| place.span.start));
        found
    }
}

/// One value of the file and the way to it. Each reading method reports what is wrong and then gives `None`.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    context: &'a Context<'a>,
    node: &'a Node,
    key: Option<&'a Key>,
    path: String,
}

impl<'a> Reader<'a> {
    fn child(&self, key: &'a Key, node: &'a Node) -> Reader<'a> {
        Reader { context: self.context, node, key: Some(key), path: join(&self.path, &key.text) }
    }

    /// The keys of a map that has fixed ones.
    pub(super) fn fields(&self) -> Option<Fields<'a>> {
        self.entries().map(|entries| Fields::new(self.clone(), entries))
    }

    /// The entries of a map whose keys are free, each read by `read`; those that fail are left out.
    pub(super) fn map<T>(&self, mut read: impl FnMut(&str, &Reader<'a>) -> Option<T>) -> Option<Vec<(String, T)>> {
        let entries = self.entries()?.iter();
        let read = entries.filter_map(|(key, node)| Some((key.text.clone(), read(&key.text, &self.child(key, node))?)));
        Some(read.collect())
    }

    /// The items of a list, each read by `read`; those that fail are left out.
    pub(super) fn list<T>(&self, mut read: impl FnMut(&Reader<'a>) -> Option<T>) -> Option<Vec<T>> {
        let Value::List(items) = &self.node.value else { return self.expected("a list") };
        let item = |(index, node)| {
            let path = format!("{}[{index}]", self.path);
            read(&Reader { context: self.context, node, key: None, path })
        };
        Some(items.iter().enumerate().filter_map(item).collect())
    }

    fn entries(&self) -> Option<&'a [(Key, Node)]> {
        match &self.node.value {
            Value::Map(entries) => Some(entries),
            // An empty file, or one with nothing but comments.
            Value::Null if self.path.is_empty() => Some(&[]),
            _ => self.expected("a map of keys and values"),
        }
    }

    /// Reports that something else stands here, and gives `None`.
    pub(super) fn expected<T>(&self, what: &str) -> Option<T> {
        let found = match &self.node.value {
            Value::Null => "nothing".to_owned(),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a map".to_owned(),
            Value::Block(_) => "a text of several lines".to_owned(),
            _ => format!("`{}`", self.context.document.shown(&self.node.span)),
        };
        self.fail(&format!("expected {what}, found {found}"))
    }

    /// Reports a problem with this value, and gives `None`.
    pub(super) fn fail<T>(&self, problem: &str) -> Option<T> {
        self.report(self.problem(problem));
        None
    }

    pub(super) fn report(&self, diagnostic: Diagnostic) {
        self.context.report(diagnostic);
    }

    /// An error that names this value's path and shows its place.
    pub(super) fn problem(&self, problem: &str) -> Diagnostic {
        let message =
            if self.path.is_empty() { format!("the file: {problem}") } else { format!("`{}`: {problem}", self.path) };
        Diagnostic::error(message).at(self.value_place())
    }

    /// The place of the key, or of the value where there is none.
    pub(super) fn place(&self) -> Place {
        self.key.map_or_else(|| self.value_place(), |key| self.context.document.place(key.span.clone()))
    }

    /// The value if it stands on one line, else its key: a caret under half a file helps nobody.
    fn value_place(&self) -> Place {
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

    /// Whether this is a list or a map with nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        match &self.node.value {
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.is_empty(),
            _ => false,
        }
    }
}
