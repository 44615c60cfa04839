//! What a session script decided: plain data and functions, before anything is done about it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::diagnostic::Diagnostic;
use crate::model::{Definition, ItemRef};
use crate::script::{Function, LogLevel};

#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// In the order they were published.
    pub tools: Vec<Published>,
    pub resources: Vec<Published>,
    pub resource_templates: Vec<Published>,
    pub prompts: Vec<Published>,
    pub instructions: Option<String>,
    /// The keys of `config()` that the script read at its top level.
    pub sections_read: BTreeSet<String>,
    /// Odd things that are not errors, each with its place.
    pub warnings: Vec<Diagnostic>,
    /// What the script logged at its top level.
    pub log: Vec<(LogLevel, String, Map<String, Value>)>,
    /// The files it loaded, to be watched with it.
    pub files: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct Published {
    pub definition: Arc<Definition>,
    pub handler: Handler,
    /// The backend's tool whose metadata this is, changed or not; none if the script made it.
    pub origin: Option<ItemRef>,
}

#[derive(Clone, Debug)]
pub enum Handler {
    /// Published unwrapped: forwarded without Starlark.
    Backend(ItemRef),
    Script(Function),
}
