//! Imports config files of other programs: Claude Desktop, Cursor, VS Code, Codex and others.

mod added;
mod client;
mod combined;
mod entry;
mod keys;
mod lasting;
mod literal_secrets;
mod members;
mod own_entry;
mod render;
mod rules;
mod sections;
mod shown;
mod source;
#[cfg(test)]
mod tests;
mod tools;
mod variables;

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use proxy_base::diagnostic::{Diagnostic, Location};

use super::sections::server::MAX_NAME_LENGTH;
use super::syntax::document::ConfigDocument;
use super::syntax::tree::NodeKey;
use members::Member;
use variables::{Translated, Variables};

pub use added::added_to;
pub use client::{CLIENTS, ClientFile, FOLDER_VARIABLES, ImportClient, Surroundings};
pub use combined::combined;
pub use lasting::fixed_values;
pub use literal_secrets::literal_secrets;
pub use own_entry::{EntryForm, OwnEntry};
pub use render::render_yaml;
pub use shown::commands;
pub use source::{count_servers, file_of, import};
pub use tools::ToolSelection;
pub use variables::{FixedVariable, NeededVariable};

/// The servers of imported files, and warnings about settings that were not imported.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The imported files.
    pub files: Vec<String>,
    pub entries: Vec<ImportedServer>,
    /// The names of the entries in the imported files, in the same order. Empty if several imports are combined.
    pub originals: Vec<String>,
    pub warnings: Vec<Diagnostic>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ImportedServer {
    pub name: String,
    pub target: ImportedTarget,
    pub disabled: bool,
    pub required: bool,
    pub timeout: Option<Duration>,
    pub start_timeout: Option<Duration>,
    /// Which of its tools are published.
    pub tools: ToolSelection,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ImportedTarget {
    Command(Box<ImportedCommand>),
    Url { url: ImportedText, headers: Vec<(String, ImportedText)>, sse: bool },
}

#[derive(Clone, Debug, PartialEq)]
pub struct ImportedCommand {
    pub command: ImportedText,
    pub args: Vec<ImportedText>,
    pub env: Vec<(String, ImportedText)>,
    pub env_file: Option<ImportedText>,
    pub inherit_env: Vec<String>,
    pub cwd: Option<ImportedText>,
}

/// A string of an imported file, which may be a secret.
#[derive(Clone, Default, PartialEq)]
pub struct ImportedText {
    /// As written in the imported file.
    written: String,
    /// With variables as the proxy writes them.
    text: String,
    /// What the user still has to do.
    notes: Vec<String>,
    /// Variables that differed for each workspace, and do not any more.
    fixed: Vec<FixedVariable>,
    /// Environment variables for values that the other program asks for or keeps.
    needed: Vec<NeededVariable>,
}

impl fmt::Debug for ImportedText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("•••")
    }
}

/// The state of the import of one file.
struct Importer<'a> {
    document: &'a ConfigDocument,
    client: &'static ImportClient,
    variables: Variables,
    /// The base of relative paths.
    workspace: PathBuf,
    is_project: bool,
    /// The names of servers that are taken.
    names: &'a mut HashSet<String>,
    /// Entries that only restrict a server of another file.
    restrictions: Vec<Restriction>,
    warnings: Vec<Diagnostic>,
    errors: Vec<Diagnostic>,
}

/// What a file says about a server that another file has. Clients combine their files, so it holds for that server.
#[derive(Debug)]
struct Restriction {
    server: String,
    disabled: bool,
    tools: ToolSelection,
}

impl Restriction {
    fn apply(self, server: &mut ImportedServer) {
        server.disabled |= self.disabled;
        self.tools.exclude.into_iter().for_each(|pattern| server.tools.hide(pattern));
        if server.tools.only.is_none() {
            server.tools.only = self.tools.only;
        }
    }
}

impl Importer<'_> {
    /// A valid and unique name of a server. VS Code's gallery uses names like `owner/server`, which are not valid here.
    fn name(&mut self, key: &NodeKey) -> String {
        let is_valid = |character: char| character != '/' && !character.is_control();
        let replaced = key.text.chars().map(|character| if is_valid(character) { character } else { '-' });
        let mut name: String = replaced.take(MAX_NAME_LENGTH).collect();
        if name.is_empty() {
            name = "server".to_owned();
        }
        let stem: String = name.chars().take(MAX_NAME_LENGTH - 4).collect();
        let mut count = 1;
        while !self.names.insert(name.clone()) {
            count += 1;
            name = format!("{stem}-{count}");
        }
        if name != key.text {
            self.warn(format!("renamed `{}` to `{name}`", key.text.escape_debug()), key);
        }
        name
    }

    /// Translates the variables of a string of this member.
    fn text(&mut self, Member { path, key, .. }: &Member, written: &str) -> ImportedText {
        let Translated { text, notes, unknown, fixed, needed } = self.variables.translate(written);
        for variable in unknown {
            let variable = variable.escape_debug();
            let title = if self.client.title.is_empty() { "the other program" } else { self.client.title };
            self.warn(
                format!("`{path}`: the variable `{variable}` works only in {title}; it is kept as plain text"),
                key,
            );
        }
        ImportedText { written: written.to_owned(), text, notes, fixed, needed }
    }

    fn warn(&mut self, message: String, key: &NodeKey) {
        self.warnings.push(Diagnostic::warning(message).at(self.place(key)));
    }

    fn place(&self, key: &NodeKey) -> Location {
        self.document.place(key.span.clone())
    }
}
