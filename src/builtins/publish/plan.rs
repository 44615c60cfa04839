//! What a session script decided: plain data and functions, before anything is done about it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::builtins::session::hook::Hook;
use crate::diagnostic::Diagnostic;
use crate::model::{Definition, ItemKind, ItemRef};
use crate::script::{Function, LogLine};
use crate::search::SharedIndex;

#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Each kind in the order it was published.
    pub tools: Vec<Published>,
    pub resources: Vec<Published>,
    pub resource_templates: Vec<Published>,
    pub prompts: Vec<Published>,
    pub instructions: Option<String>,
    /// Whether `passthrough()` was asked for all that it can pass.
    pub passes_all: bool,
    /// The keys of `config()` that the script read at its top level.
    pub sections_read: BTreeSet<String>,
    /// Odd things that are not errors, each with its place.
    pub warnings: Vec<Diagnostic>,
    /// The search indexes that it made at its top level.
    pub indexes: Vec<Arc<SharedIndex>>,
    /// What the script logged at its top level.
    pub log: Vec<LogLine>,
    /// Whether it asked whom it runs for: others may get another plan.
    pub personal: bool,
    /// What runs before everything that a client names.
    pub on_request: Option<Hook>,
    /// The files it loaded, to be watched with it.
    pub files: Vec<PathBuf>,
    /// Of the script, what it loaded and its settings.
    pub digest: String,
}

impl Plan {
    pub fn of(&self, kind: ItemKind) -> &[Published] {
        match kind {
            ItemKind::Tool => &self.tools,
            ItemKind::Resource => &self.resources,
            ItemKind::ResourceTemplate => &self.resource_templates,
            ItemKind::Prompt => &self.prompts,
        }
    }

    pub(crate) fn of_mut(&mut self, kind: ItemKind) -> &mut Vec<Published> {
        match kind {
            ItemKind::Tool => &mut self.tools,
            ItemKind::Resource => &mut self.resources,
            ItemKind::ResourceTemplate => &mut self.resource_templates,
            ItemKind::Prompt => &mut self.prompts,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Published {
    pub definition: Arc<Definition>,
    pub handler: Handler,
    /// What it was at its backend, if its metadata came from one, changed or not; none if the script made it.
    pub origin: Option<ItemRef>,
}

#[derive(Clone, Debug)]
pub enum Handler {
    /// Published unwrapped: forwarded without Starlark.
    Backend(ItemRef),
    Script(Function),
}
