//! Which tools a script may find and call on behalf of the caller.

use std::sync::Arc;

use proxy_model::{Definition, ItemRef};

/// A tool that is not published itself: one of a search index or of a code-mode script.
#[derive(Clone, Copy, Debug)]
pub struct ToolFacts<'a> {
    /// The name under which the caller knows it.
    pub name: &'a str,
    /// `None` if the script made the tool.
    pub origin: Option<(&'a Arc<str>, &'a Arc<str>)>,
    pub definition: &'a Definition,
}

impl<'a> ToolFacts<'a> {
    pub fn of(definition: &'a Definition, origin: Option<&'a ItemRef>) -> Self {
        ToolFacts { name: definition.key(), origin: origin.map(|origin| (&origin.backend, &origin.name)), definition }
    }
}

/// Why a tool must not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolRefusal {
    /// The caller must not know that there is such a tool.
    Unknown,
    /// The caller lacks scopes, or must not use the tool with these arguments. The text is for the caller.
    Refused(String),
}

/// The policies, asked for the caller of one request.
pub trait Authorization: Send + Sync {
    /// Identifies the policies and everything about the caller that they can see.
    fn fingerprint(&self) -> String;

    /// Whether each of these tools may be shown to the caller.
    fn listed(&self, tools: &[ToolFacts<'_>]) -> Vec<bool>;

    /// What [`Authorization::listed`] said about the tools of a search index, which is identified by its address.
    fn remembered(&self, index: usize) -> Option<Arc<[bool]>>;

    /// Notes that the caller wanted a tool that must not be shown to them.
    fn note_hidden(&self, tool: ToolFacts<'_>);

    /// Remembers what [`Authorization::listed`] said about the tools of a search index.
    fn remember(&self, index: usize, listed: &Arc<[bool]>);
}
