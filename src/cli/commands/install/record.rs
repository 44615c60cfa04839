//! What was installed, so that it can be taken back: the file before and after, and the servers that moved.

use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::own::is_same_path;
use crate::cli::setup;
use proxy_base::diagnostic::Diagnostic;
use proxy_base::process::atomic_file;
use proxy_config::entries::ClientText;
use proxy_config::import::ImportClient;

/// Below the folder for state. The files may hold secrets of the client's config, so only the user may read them.
const FOLDER: &str = "installed";
/// The files of clients before an entry was taken out of them, which hold such secrets, too.
const EDITED: &str = "uninstalled";

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
    /// The config of the proxy; `None` if there was none. Then the entry names none, and serves one that comes later.
    pub(super) config: Option<PathBuf>,
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
}

impl Kept {
    fn name(self) -> &'static str {
        match self {
            Kept::Before => "before",
            Kept::After => "after",
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
        let base = state_folder()?.join(FOLDER);
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
            folder,
        })
    }

    /// Whether the client's file still has the entry. Somebody may have removed it by hand.
    pub(super) fn is_installed(&self) -> bool {
        let client = ImportClient::by_name(&self.client);
        let Some(own_entry) = client.and_then(|client| client.own_entry) else { return true };
        match std::fs::read_to_string(&self.file) {
            Ok(text) => ClientText::parse(&self.file, &text)
                .map_or(true, |text| text.entry(own_entry.section, &self.name).is_some()),
            Err(error) => error.kind() != ErrorKind::NotFound,
        }
    }

    /// Whether the client starts the proxy with this config.
    pub(super) fn uses(&self, config: &Path) -> bool {
        if let Some(own) = &self.config {
            return is_same_path(own, config);
        }
        let of_user = setup::user_config_folder();
        let of_user = proxy_config::find(None, Path::new("/nonexistent"), of_user.as_deref());
        // A client starts the servers of a project in its folder, which has the client's file.
        let of_project = self.file.ancestors().skip(1).map(|folder| proxy_config::find(None, folder, None));
        let mut found = std::iter::once(of_user).chain(of_project).filter_map(|found| found.ok().flatten());
        found.any(|found| is_same_path(&found, config))
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
        write_privately(&self.folder, name, bytes)
    }
}

/// Keeps the file of a client as it was before an entry was taken out of it, until the next time. Returns where.
pub(super) fn keep_edited(client: &str, bytes: &[u8]) -> Result<PathBuf, Diagnostic> {
    let folder = state_folder()?.join(EDITED);
    write_privately(&folder, client, bytes)?;
    Ok(folder.join(client))
}

pub(super) fn state_folder() -> Result<PathBuf, Diagnostic> {
    setup::state_folder().ok_or_else(|| {
        let problem = Diagnostic::error("there is no folder to keep a backup in");
        problem.hint("set `HOME` or `XDG_STATE_HOME`")
    })
}

pub(super) fn write_privately(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Diagnostic> {
    let private = || {
        std::fs::create_dir_all(folder)?;
        std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        atomic_file::replace(&folder.join(name), bytes)
    };
    private().map_err(|error| {
        let path = folder.join(name);
        let problem = format!("cannot write the backup `{}`: {error}", path.display());
        Diagnostic::error(problem).hint("nothing was changed")
    })
}
