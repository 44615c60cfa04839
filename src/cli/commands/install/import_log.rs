//! Which servers `--import` has added to a config of the proxy. Clients may share the config, so it belongs to none of their
//! records: whichever client leaves last gives the config back.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::client_file::ClientTarget;
use super::own::is_same_path;
use super::record::{self, Record};
use crate::cli::failure::CommandFailure;
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
pub(super) fn give_back(left: &Record) -> Result<(), CommandFailure> {
    let mut unused = Vec::new();
    for log in ImportLog::all() {
        let is_imported = log.imports.iter().any(|import| import.file == left.file);
        if !is_imported && !left.uses(&log.config) {
            continue;
        }
        let users = log.users();
        if users.is_empty() {
            unused.push(log);
        } else if is_imported {
            let verb = if users.len() == 1 { "uses" } else { "use" };
            let shown = output::one_line(&log.config.display().to_string()).into_owned();
            output::err(&format!("{shown} keeps the servers, because {} {verb} it", users.join(" and ")));
        }
    }
    undo_all(&unused)
}

/// Gives those configs back that could not be given back when this file of a client lost its entry. `None` if there are none.
pub(super) fn give_back_again(file: &Path) -> Option<Result<(), CommandFailure>> {
    let is_left = |log: &ImportLog| log.imports.iter().any(|import| import.file == file) && log.users().is_empty();
    let left: Vec<ImportLog> = ImportLog::all().into_iter().filter(is_left).collect();
    if left.is_empty() { None } else { Some(undo_all(&left)) }
}

fn undo_all(logs: &[ImportLog]) -> Result<(), CommandFailure> {
    let failed = logs.iter().map(ImportLog::undo).filter(|is_undone| !is_undone).count();
    if failed == 0 { Ok(()) } else { Err(CommandFailure::already_reported(1)) }
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
        let records = Record::all();
        let clients = records.iter().filter(|record| record.is_installed() && record.uses(&self.config));
        let mut titles: Vec<&str> =
            clients.filter_map(|record| Some(ImportClient::by_name(&record.client)?.title)).collect();
        titles.dedup();
        titles
    }

    /// The config as it was before the imports, if nobody else has changed it. Names what stays in it. Returns whether the
    /// log is done with: what could not be written can be tried again.
    fn undo(&self) -> bool {
        let state = match self.restore() {
            Ok(state) => state,
            Err(problem) => {
                let note = "the config still has the imported servers: run the command again when this is mended";
                output::diagnostics(&[problem.note(note)]);
                return false;
            }
        };
        self.forget();
        let still = self.still_there();
        if let Some(state) = state {
            let since = if still.is_empty() { "" } else { " the last import" };
            output::err(&format!("{} {state}{since}", output::one_line(&self.config.display().to_string())));
        }
        if !still.is_empty() {
            self.warn_of(&still);
        }
        true
    }

    fn warn_of(&self, still: &[String]) {
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

    /// What the config is now; `None` if it stays, because somebody else has changed it.
    fn restore(&self) -> Result<Option<&'static str>, Diagnostic> {
        let now = ClientTarget::read(&self.config)?;
        if now.bytes.is_none() || now.bytes != self.kept(AFTER) {
            return Ok(None);
        }
        match self.kept(BEFORE) {
            Some(bytes) => now.replace(&bytes).map(|_| Some("is as it was before")),
            None if self.existed => Ok(None),
            None => now.remove().map(|()| Some("is removed, as before the installation")),
        }
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
