//! What was installed, so that it can be taken back: the file before and after, and the servers that moved.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::setup;
use proxy_base::diagnostic::Diagnostic;
use proxy_base::process::atomic_file;

/// Below the folder for state. The files may hold secrets of the client's config, so only the user may read them.
const FOLDER: &str = "installed";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli::commands) struct Record {
    pub(in crate::cli::commands) client: String,
    pub(in crate::cli::commands) name: String,
    /// The client's file, as the client names it.
    pub(in crate::cli::commands) file: PathBuf,
    pub(super) entry: Value,
    /// How many of the keys that lead to the entry were made for it.
    pub(super) made_sections: usize,
    /// The folders made for the file, the outermost first.
    pub(super) made_folders: Vec<PathBuf>,
    /// Whether there was a file before.
    pub(super) existed: bool,
    /// `false` if the file had changed between two installations, so that there is nothing to restore.
    pub(super) has_before: bool,
    pub(super) moved: Vec<MovedServer>,
    /// The config of the proxy.
    pub(super) config: Option<PathBuf>,
    /// Whether servers were moved into it.
    pub(super) config_written: bool,
    /// Where this record is.
    #[serde(skip)]
    folder: PathBuf,
}

/// A server of the client that is one of the proxy's now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct MovedServer {
    pub(super) name: String,
    /// As the client's file had it.
    pub(super) written: Option<String>,
    pub(super) value: Value,
}

/// The texts that a record keeps.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kept {
    Before,
    After,
    ConfigBefore,
    ConfigAfter,
}

impl Kept {
    fn name(self) -> &'static str {
        match self {
            Kept::Before => "before",
            Kept::After => "after",
            Kept::ConfigBefore => "config-before",
            Kept::ConfigAfter => "config-after",
        }
    }
}

impl Record {
    /// All records; those that cannot be read are left out.
    pub(in crate::cli::commands) fn all() -> Vec<Record> {
        let Some(folder) = setup::state_folder().map(|folder| folder.join(FOLDER)) else { return Vec::new() };
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let read = |folder: PathBuf| -> Option<Record> {
            let text = std::fs::read(folder.join("record.json")).ok()?;
            let record: Record = serde_json::from_slice(&text).ok()?;
            Some(Record { folder, ..record })
        };
        let mut all: Vec<Record> = entries.filter_map(|entry| read(entry.path())).collect();
        all.sort_by(|one, other| one.folder.cmp(&other.folder));
        all
    }

    pub(super) fn find(client: &str, name: &str, file: &Path) -> Option<Record> {
        Record::all().into_iter().find(|known| known.client == client && known.name == name && known.file == file)
    }

    pub(super) fn new(client: &str, name: &str, file: &Path) -> Result<Record, Diagnostic> {
        let Some(state) = setup::state_folder() else {
            let problem = Diagnostic::error("there is no folder to keep a backup in");
            return Err(problem.hint("set `HOME` or `XDG_STATE_HOME`"));
        };
        let base = state.join(FOLDER);
        let free =
            (1..).map(|number| base.join(if number == 1 { client.to_owned() } else { format!("{client}-{number}") }));
        let folder = free.into_iter().find(|folder| !folder.exists()).unwrap_or(base);
        Ok(Record {
            client: client.to_owned(),
            name: name.to_owned(),
            file: file.to_owned(),
            entry: Value::Null,
            made_sections: 0,
            made_folders: Vec::new(),
            existed: false,
            has_before: true,
            moved: Vec::new(),
            config: None,
            config_written: false,
            folder,
        })
    }

    pub(super) fn save(&self) -> Result<(), Diagnostic> {
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        self.write("record.json", &text)
    }

    /// Keeps a text; `None` if there is no file.
    pub(super) fn keep(&self, what: Kept, bytes: Option<&[u8]>) -> Result<(), Diagnostic> {
        match bytes {
            Some(bytes) => self.write(what.name(), bytes),
            None => {
                let _ = std::fs::remove_file(self.path(what));
                Ok(())
            }
        }
    }

    pub(super) fn kept(&self, what: Kept) -> Option<Vec<u8>> {
        std::fs::read(self.path(what)).ok()
    }

    pub(super) fn path(&self, what: Kept) -> PathBuf {
        self.folder.join(what.name())
    }

    pub(super) fn forget(&self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Diagnostic> {
        let private = || {
            std::fs::create_dir_all(&self.folder)?;
            std::fs::set_permissions(&self.folder, Permissions::from_mode(0o700))?;
            atomic_file::replace(&self.folder.join(name), bytes)
        };
        private().map_err(|error| {
            let path = self.folder.join(name);
            let problem = format!("cannot write the backup `{}`: {error}", path.display());
            Diagnostic::error(problem).hint("nothing was changed")
        })
    }
}
