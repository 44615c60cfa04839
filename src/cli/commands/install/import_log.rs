//! Which servers `--import` has added to a config of the proxy. Clients may share the config, so it belongs to none of their
//! records: whichever client leaves last gives the config back.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::client_file::ClientTarget;
use super::own::same_file;
use super::record::{self, Record};
use crate::cli::{output, setup};
use proxy_base::diagnostic::Diagnostic;
use proxy_config::entries::ClientText;
use proxy_config::import::ImportClient;

/// Below the folder for state. The texts may hold secrets, so only the user may read them.
const FOLDER: &str = "imported";
const LOG: &str = "imports.json";
/// The config before the first of the imports between which nobody has edited it.
const BEFORE: &str = "before";
/// The config after the last import.
const AFTER: &str = "after";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ImportLog {
    /// The config of the proxy.
    config: PathBuf,
    /// Whether there was a config before.
    existed: bool,
    imports: Vec<Import>,
    /// Where this log is.
    #[serde(skip)]
    folder: PathBuf,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Import {
    /// The client's file that had the servers.
    pub(super) file: PathBuf,
    /// Their names in the config.
    pub(super) servers: Vec<String>,
    /// Where the config has their secrets as plain text: `github: env GITHUB_TOKEN`.
    pub(super) secrets: Vec<String>,
}

/// A log with one import more, and how it was before.
#[derive(Debug)]
pub(super) struct NotedImport {
    log: ImportLog,
    previous: Option<SavedLog>,
}

/// A log, and the config before its first and after its last import, as far as there was one.
#[derive(Debug)]
struct SavedLog {
    log: ImportLog,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

/// Notes an import before the config is written.
pub(super) fn note(
    target: &ClientTarget,
    config: &Path,
    after: &[u8],
    import: Import,
) -> Result<NotedImport, Diagnostic> {
    let known = ImportLog::all().into_iter().find(|log| is_same_path(&log.config, config));
    let previous = known.map(|log| SavedLog { before: log.kept(BEFORE), after: log.kept(AFTER), log });
    let before = target.bytes.as_deref();
    let (mut log, before) = match &previous {
        Some(saved) if saved.after.as_deref() == before => (saved.log.clone(), saved.before.as_deref()),
        // Somebody has edited it since the last import: only what comes now can be undone as a whole.
        Some(saved) => (ImportLog { existed: before.is_some(), ..saved.log.clone() }, before),
        None => (ImportLog::new(config, before.is_some())?, before),
    };
    log.imports.push(import);
    log.save(before, Some(after))?;
    Ok(NotedImport { log, previous })
}

impl NotedImport {
    /// Forgets the import, because the config could not be written.
    pub(super) fn take_back(&self) {
        match &self.previous {
            Some(saved) => {
                let _ = saved.log.save(saved.before.as_deref(), saved.after.as_deref());
            }
            None => self.log.forget(),
        }
    }
}

/// Says what becomes of the configs of a client that was uninstalled, and gives those back that no other client uses.
pub(super) fn give_back(left: &Record) {
    for log in ImportLog::all() {
        let is_imported = log.imports.iter().any(|import| import.file == left.file);
        let is_used = left.config.as_deref().is_some_and(|config| is_same_path(config, &log.config));
        if !is_imported && !is_used {
            continue;
        }
        let users = log.users();
        if users.is_empty() {
            log.undo();
        } else if is_imported {
            let verb = if users.len() == 1 { "uses" } else { "use" };
            let shown = output::one_line(&log.config.display().to_string()).into_owned();
            output::err(&format!("{shown} keeps the servers, because {} {verb} it", users.join(" and ")));
        }
    }
}

impl ImportLog {
    fn new(config: &Path, existed: bool) -> Result<ImportLog, Diagnostic> {
        let base = record::state_folder()?.join(FOLDER);
        let free = (1..).map(|number: usize| base.join(number.to_string()));
        let folder = free.into_iter().find(|folder| !folder.exists()).unwrap_or(base);
        Ok(ImportLog { config: config.to_owned(), existed, imports: Vec::new(), folder })
    }

    /// All logs; those that cannot be read are left out.
    fn all() -> Vec<ImportLog> {
        let Some(folder) = setup::state_folder().map(|folder| folder.join(FOLDER)) else { return Vec::new() };
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let read = |folder: PathBuf| -> Option<ImportLog> {
            let log: ImportLog = serde_json::from_slice(&std::fs::read(folder.join(LOG)).ok()?).ok()?;
            Some(ImportLog { folder, ..log })
        };
        entries.filter_map(|entry| read(entry.path())).collect()
    }

    fn save(&self, before: Option<&[u8]>, after: Option<&[u8]>) -> Result<(), Diagnostic> {
        for (name, text) in [(BEFORE, before), (AFTER, after)] {
            match text {
                Some(text) => record::write_privately(&self.folder, name, text)?,
                None => {
                    let _ = std::fs::remove_file(self.folder.join(name));
                }
            }
        }
        record::write_privately(&self.folder, LOG, &serde_json::to_vec_pretty(self).unwrap_or_default())
    }

    fn kept(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.folder.join(name)).ok()
    }

    fn forget(&self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }

    /// The clients that start the proxy with this config.
    fn users(&self) -> Vec<&'static str> {
        let is_user = |record: &Record| {
            record.config.as_deref().is_some_and(|config| is_same_path(config, &self.config)) && record.is_installed()
        };
        let records = Record::all();
        let clients = records.iter().filter(|record| is_user(record));
        let mut titles: Vec<&str> =
            clients.filter_map(|record| Some(ImportClient::by_name(&record.client)?.title)).collect();
        titles.dedup();
        titles
    }

    /// The config as it was before the imports, if nobody else has changed it. Names what stays in it.
    fn undo(&self) {
        let restored = self.restore();
        self.forget();
        let still = self.still_there();
        if let Some(state) = restored {
            let since = if still.is_empty() { "" } else { " the last import" };
            output::err(&format!("{} {state}{since}", output::one_line(&self.config.display().to_string())));
        }
        if still.is_empty() {
            return;
        }
        let names: Vec<String> = still.iter().map(|name| format!("`{}`", output::one_line(name))).collect();
        let shown = self.config.display();
        let problem =
            format!("no client uses {shown} any more, and it still has what was imported: {}", names.join(", "));
        let is_of_one = |place: &&String| still.iter().any(|name| place.starts_with(&format!("{name}: ")));
        let secrets: Vec<&str> =
            self.imports.iter().flat_map(|import| &import.secrets).filter(is_of_one).map(String::as_str).collect();
        let mut warning = Diagnostic::warning(problem);
        if !secrets.is_empty() {
            warning = warning.note(format!("secrets are in it as plain text: {}", secrets.join("; ")));
        }
        let hint =
            "the file was changed after an import, so they stay: remove them, or the file, if nothing else needs them";
        output::diagnostics(&[warning.hint(hint)]);
    }

    /// What the config is now; `None` if it stays.
    fn restore(&self) -> Option<&'static str> {
        let now = ClientTarget::read(&self.config).ok()?;
        if now.bytes.is_none() || now.bytes != self.kept(AFTER) {
            return None;
        }
        let restored = match self.kept(BEFORE) {
            Some(bytes) => now.replace(&bytes).map(|_| "is as it was before"),
            None if self.existed => return None,
            None => now.remove().map(|()| "is removed, as before the installation"),
        };
        restored.inspect_err(|problem| output::diagnostics(std::slice::from_ref(problem))).ok()
    }

    /// The imported servers that the config has now.
    fn still_there(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.config).unwrap_or_default();
        let Ok(read) = ClientText::parse(&self.config, &text) else { return Vec::new() };
        let mut names: Vec<String> = read.entries(&["mcpServers"]).into_iter().map(|(name, _)| name).collect();
        names.retain(|name| self.imports.iter().any(|import| import.servers.contains(name)));
        names
    }
}

fn is_same_path(one: &Path, other: &Path) -> bool {
    one == other || same_file(one, other)
}
