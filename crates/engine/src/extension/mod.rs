//! Extensions: Starlark files that define tools, resources and prompts. An extension is a backend that runs in this
//! process; this module loads, checks and calls it.

mod backend;
pub mod bundled;
mod client_folders;
mod discover;
mod executable;
mod host;
mod item;
mod load;
mod modules;
mod permissions;
mod runtime;
mod types;
mod values;

use std::path::PathBuf;

use proxy_model::ItemKind;
use proxy_script::LogLine;

pub use backend::ExtensionBackend;
pub use discover::{candidates, clash, clash_with_server, folders, open, read};
pub use item::{ExtensionCallError, ExtensionItem};
pub use load::{globals, load, load_runtime, register};
pub use modules::about as about_modules;
pub use permissions::Permissions;
pub use runtime::ExtensionRuntime;

/// A loaded extension.
#[derive(Clone, Debug)]
pub struct Extension {
    pub name: String,
    pub version: String,
    pub description: String,
    /// Tools, then resources and templates, then prompts.
    pub items: Vec<ExtensionItem>,
    /// The name of the file in errors.
    pub source_name: String,
    /// Other files that it was loaded from. A change of one reloads the extension.
    pub files: Vec<PathBuf>,
    /// What its top level logged.
    pub log: Vec<LogLine>,
}

impl Extension {
    /// The items of one kind.
    pub fn of(&self, kind: ItemKind) -> impl Iterator<Item = &ExtensionItem> {
        self.items.iter().filter(move |item| item.kind == kind)
    }

    pub fn find(&self, kind: ItemKind, key: &str) -> Option<&ExtensionItem> {
        self.of(kind).find(|item| item.definition.key() == key)
    }
}

#[cfg(test)]
mod tests;
