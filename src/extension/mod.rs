//! Local tools: a Starlark file that describes an extension. It is a kind of backend; here it is loaded, checked and
//! called.

mod backend;
pub mod bundled;
mod constructors;
mod discover;
mod load;
mod parameter;
mod tool;
mod values;

use std::path::PathBuf;

use crate::script::LogLine;

pub use backend::ExtensionBackend;
pub use discover::{discover, files};
pub use load::{globals, load};
pub use tool::{CallFault, ExtensionTool};

/// A loaded extension.
#[derive(Clone, Debug)]
pub struct Extension {
    pub name: String,
    pub version: String,
    pub description: String,
    pub tools: Vec<ExtensionTool>,
    /// The file, as shown in errors.
    pub source_name: String,
    /// The files it loads, to be watched with it.
    pub files: Vec<PathBuf>,
    /// What it logged while it was loaded.
    pub log: Vec<LogLine>,
}

#[cfg(test)]
mod tests;
