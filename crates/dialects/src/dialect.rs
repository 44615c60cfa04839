//! One row: a client, and what it accepts.

use std::sync::Arc;

use super::change::Step;
use super::version::VersionBounds;

/// What one client accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct Dialect {
    /// The name of the row.
    pub row: Arc<str>,
    pub patterns: Vec<NamePattern>,
    pub version: VersionBounds,
    pub limits: Limits,
    /// How long a tool's own name may be; `None` if any length is accepted.
    pub(crate) own_name_length: Option<usize>,
    /// The position in [`Dialects`](crate::Dialects).
    pub(crate) index: usize,
}

/// What a row says. Whatever is absent is unknown, and left as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// What the client puts before the name of a tool; `{server}` is what it calls this proxy.
    pub prefix: String,
    /// The client cuts the prefix to this length.
    pub prefix_length: Option<usize>,
    /// The length of prefix and name.
    pub name_length: Option<usize>,
    pub tools: Option<usize>,
    /// In characters.
    pub description_length: Option<usize>,
    /// The steps for schemas, in their order.
    pub schema: Vec<Step>,
    pub result: Option<ResultLimit>,
}

/// How large a result may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultLimit {
    pub tokens: usize,
    /// For clients that estimate tokens by bytes.
    pub bytes: Option<usize>,
    pub excess: Excess,
}

/// What a client does with a result that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// It keeps the whole result in a file that its model can search.
    File,
    /// It cuts the result: the rest is lost.
    Cut,
}

/// A pattern for the names of clients: a name, or the beginning of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    /// In lower case.
    text: String,
    is_beginning: bool,
}

impl NamePattern {
    /// Reads a pattern. `None` if it is empty or has a `*` before its end.
    pub fn parse(text: &str) -> Option<Self> {
        let beginning = text.strip_suffix('*');
        let name = beginning.unwrap_or(text).to_lowercase();
        if name.is_empty() || name.contains('*') {
            return None;
        }
        Some(NamePattern { text: name, is_beginning: beginning.is_some() })
    }

    /// How much of a name the pattern says, if it matches; a whole name says more than its beginning.
    pub(crate) fn matches(&self, name: &str) -> Option<(usize, bool)> {
        let begins = || name.get(..self.text.len()).is_some_and(|start| is_same(start, &self.text));
        let is_match = if self.is_beginning { begins() } else { is_same(name, &self.text) };
        if is_match { Some((self.text.len(), !self.is_beginning)) } else { None }
    }
}

/// Whether a name is this text in lower case.
fn is_same(name: &str, lower: &str) -> bool {
    name.eq_ignore_ascii_case(lower) || (!name.is_ascii() && name.to_lowercase() == lower)
}

impl Dialect {
    /// The length that a tool's own name may have, where clients call the proxy `server`.
    pub(crate) fn own_length(limits: &Limits, server: &str) -> Option<usize> {
        let prefix = limits.prefix.replace("{server}", server).len();
        let prefix = limits.prefix_length.map_or(prefix, |max| prefix.min(max));
        limits.name_length.map(|length| length.saturating_sub(prefix))
    }

    /// How long a tool's own name may be.
    pub fn own_name_length(&self) -> Option<usize> {
        self.own_name_length
    }

    /// How large a result may be, and what becomes of a larger one.
    pub fn result(&self) -> Option<ResultLimit> {
        self.limits.result
    }

    /// The position among all rows.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Whether the row changes any tool.
    pub fn changes_tools(&self) -> bool {
        self.own_name_length.is_some() || self.limits.description_length.is_some() || !self.limits.schema.is_empty()
    }
}
