//! Local tools: the extension files of a config. A file that no longer loads keeps serving its last good version. Of
//! two extensions with one name, the one that was loaded first stays.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::extension::{self, ExtensionBackend, bundled};
use proxy_base::diagnostic::Diagnostic;
use proxy_base::watch::WatchedPaths;
use proxy_config::Config;
use proxy_fiber::Pool;
use proxy_host_io::HostIo;
use proxy_mcp_client::Backend;
use proxy_script::Source;

#[derive(Clone)]
struct LocalFile {
    source: Source,
    /// The last version that loaded; `None` if the file defines no extension or never loaded.
    extension: Option<Arc<ExtensionBackend>>,
    problem: Option<Diagnostic>,
}

/// The extensions of a config at one moment.
#[derive(Clone, Default)]
pub(crate) struct LocalTools {
    files: Vec<LocalFile>,
    /// The extensions that can be called.
    active: Vec<Arc<ExtensionBackend>>,
    /// Errors for paths under `extensions` that do not exist.
    pub(crate) missing: Vec<Diagnostic>,
    /// Errors for names that another extension or a server has.
    clashes: Vec<Diagnostic>,
}

impl LocalTools {
    /// Reads the files from disk and loads those that have changed since `self`. Blocking.
    pub(crate) fn reload(&self, config: &Config, bundled: bool, pool: &Pool, host_io: &Arc<HostIo>) -> Self {
        let mut next = LocalTools::default();
        if bundled {
            next.files.extend(bundled::BUNDLED.iter().map(|shipped| self.file(shipped.script(), pool, host_io)));
        }
        for path in &config.extensions {
            match extension::candidates(&path.path) {
                Ok(files) => {
                    for file in files {
                        // Two patterns may match the same file.
                        if next.known(&file.display().to_string()).is_none() {
                            next.files.push(self.read(&file, pool, host_io));
                        }
                    }
                }
                Err(problem) => next.missing.push(problem),
            }
        }
        next.choose(&self.active, config);
        next
    }

    fn read(&self, file: &Path, pool: &Pool, host_io: &Arc<HostIo>) -> LocalFile {
        match extension::read(file) {
            Ok(source) => self.file(source, pool, host_io),
            // An editor may be in the middle of saving the file; a watch event follows when it is complete.
            Err(problem) => {
                let known = self.known(&file.display().to_string()).cloned();
                let fresh = || LocalFile {
                    source: Source::at(file.display().to_string(), "", file),
                    extension: None,
                    problem: None,
                };
                LocalFile { problem: Some(problem), ..known.unwrap_or_else(fresh) }
            }
        }
    }

    fn known(&self, name: &str) -> Option<&LocalFile> {
        self.files.iter().find(|file| file.source.name == name)
    }

    fn file(&self, source: Source, pool: &Pool, host_io: &Arc<HostIo>) -> LocalFile {
        let known = self.known(&source.name);
        if let Some(known) = known
            && known.source.outdated().is_empty()
            && known.source.text == source.text
        {
            return known.clone();
        }
        match extension::open(&source, pool, host_io) {
            Ok(extension) => LocalFile { source, extension: extension.map(Arc::new), problem: None },
            Err(problem) => {
                let extension = known.and_then(|known| known.extension.clone());
                let problem = match &extension {
                    Some(_) => problem.note("the previous version stays in use"),
                    None => problem,
                };
                LocalFile { source, extension, problem: Some(problem) }
            }
        }
    }

    /// Resolves name clashes: a server wins over an extension, and an extension that had the name before over a new
    /// one.
    fn choose(&mut self, before: &[Arc<ExtensionBackend>], config: &Config) {
        let had_name = |extension: &ExtensionBackend| {
            let same = |old: &&Arc<ExtensionBackend>| {
                old.name() == extension.name() && old.source_name() == extension.source_name()
            };
            before.iter().any(|old| same(&old))
        };
        let all: Vec<&Arc<ExtensionBackend>> = self.files.iter().filter_map(|file| file.extension.as_ref()).collect();
        for extension in &all {
            if config.servers.contains_key(extension.name()) {
                self.clashes.push(extension::clash_with_server(extension));
                continue;
            }
            let namesakes = || all.iter().filter(|other| other.name() == extension.name());
            let first = namesakes().find(|other| had_name(other)).or_else(|| namesakes().next());
            match first {
                Some(first) if !Arc::ptr_eq(first, extension) => {
                    self.clashes.push(extension::clash(first, extension));
                }
                _ => self.active.push(Arc::clone(extension)),
            }
        }
    }

    pub(crate) fn backends(&self) -> impl Iterator<Item = Arc<dyn Backend>> {
        self.active.iter().map(|extension| Arc::clone(extension) as Arc<dyn Backend>)
    }

    /// Errors for the names in `aggregation` and `profiles` that no server and no extension has. A file that does not load may be the
    /// extension that a name means, so with one of those there are no errors: it is reported itself.
    pub(crate) fn unknown_workloads(&self, config: &Config) -> Vec<Diagnostic> {
        if self.files.iter().any(|file| file.extension.is_none() && file.problem.is_some()) {
            return Vec::new();
        }
        let servers = config.servers.keys().map(String::as_str);
        let known: Vec<&str> = servers.chain(self.active.iter().map(|extension| extension.name())).collect();
        let mut unknown = config.aggregation.unknown_workloads(&known);
        unknown.extend(config.unknown_in_profiles(&known));
        unknown
    }

    /// Whether both have the same versions of the same extensions.
    pub(crate) fn is_same_as(&self, other: &LocalTools) -> bool {
        self.active.len() == other.active.len()
            && self.active.iter().zip(&other.active).all(|(own, other)| Arc::ptr_eq(own, other))
    }

    /// The names of changed, new and deleted files.
    pub(crate) fn changed_since(&self, before: &LocalTools) -> Vec<String> {
        let version = |file: &LocalFile| (file.source.name.clone(), file.extension.as_ref().map(Arc::as_ptr));
        let (now, then): (Vec<_>, Vec<_>) =
            (self.files.iter().map(version).collect(), before.files.iter().map(version).collect());
        let mut names: Vec<String> =
            now.iter().filter(|file| !then.contains(file)).map(|(name, _)| name.clone()).collect();
        let deleted = then.iter().filter(|(name, _)| !now.iter().any(|(other, _)| other == name));
        names.extend(deleted.map(|(name, _)| name.clone()));
        names
    }

    /// All present errors.
    pub(crate) fn problems(&self) -> impl Iterator<Item = &Diagnostic> {
        self.missing.iter().chain(self.files.iter().filter_map(|file| file.problem.as_ref())).chain(&self.clashes)
    }

    /// The errors that `before` did not have.
    pub(crate) fn new_problems<'a>(&'a self, before: &'a LocalTools) -> impl Iterator<Item = &'a Diagnostic> {
        self.problems().filter(|problem| !before.problems().any(|known| known == *problem))
    }

    /// Adds the files and folders to watch for changes.
    pub(crate) fn watch(&self, config: &Config, paths: &mut WatchedPaths) {
        for path in &config.extensions {
            let (base, is_pattern) = fixed_part(&path.path);
            if is_pattern || !base.is_file() {
                paths.folder(&base);
            }
            // A new extension may appear in a folder below.
            if !is_pattern && base.is_dir() {
                extension::folders(&base).unwrap_or_default().iter().for_each(|folder| paths.folder(folder));
            }
        }
        for file in &self.files {
            for path in file.source.paths() {
                paths.file(&path);
            }
            // A pattern may match a new file in this folder later.
            if let Some(folder) = file.source.path.as_deref().and_then(Path::parent) {
                paths.folder(folder);
            }
        }
    }
}

/// The part of a path before the first wildcard, and whether there is a wildcard.
pub(in crate::gateway) fn fixed_part(path: &Path) -> (PathBuf, bool) {
    let is_pattern = |part: &std::ffi::OsStr| part.to_string_lossy().contains(['*', '?', '[']);
    let fixed: PathBuf = path.iter().take_while(|part| !is_pattern(part)).collect();
    let patterned = fixed != path;
    (fixed, patterned)
}
