//! Local tools: a Starlark file that describes an extension. It is a kind of backend; here it is loaded, checked and
//! called.

mod backend;
pub mod bundled;
mod discover;
mod item;
mod load;
mod modules;
mod permissions;
mod types;
mod world;

use std::path::PathBuf;

use crate::model::ItemKind;
use crate::script::LogLine;

pub use backend::ExtensionBackend;
pub use discover::{candidates, clash, clash_with_server, open, read};
pub use item::{CallFault, ExtensionItem};
pub use load::{globals, load, load_world, register};
pub use modules::about as about_modules;
pub use permissions::Permissions;
pub use world::World;

/// A loaded extension.
#[derive(Clone, Debug)]
pub struct Extension {
    pub name: String,
    pub version: String,
    pub description: String,
    /// Tools, then resources and templates, then prompts.
    pub items: Vec<ExtensionItem>,
    /// The file, as shown in errors.
    pub source_name: String,
    /// The files it was made from beside its own: to be watched with it.
    pub files: Vec<PathBuf>,
    /// What it logged while it was loaded.
    pub log: Vec<LogLine>,
}

impl Extension {
    pub fn of(&self, kind: ItemKind) -> impl Iterator<Item = &ExtensionItem> {
        self.items.iter().filter(move |item| item.kind == kind)
    }

    pub fn find(&self, kind: ItemKind, key: &str) -> Option<&ExtensionItem> {
        self.of(kind).find(|item| item.definition.key() == key)
    }
}

#[cfg(test)]
mod tests;
