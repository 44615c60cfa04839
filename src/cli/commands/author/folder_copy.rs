//! A copy of what scripts in a folder need: scripts, policies, the config without its secrets, the lock and the last known lists.
//! A child process reads the copy and nothing else, so that keys in the folder are out of its reach, and drafts are in place.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::arguments::Drafts;
use super::config_files::ConfigFiles;
use super::folder::PolicyFolder;
use proxy_base::diagnostic::Diagnostic;

/// Files that are copied because of their names.
const COPIED: [&str; 3] = ["star", "cedar", "cedarschema"];
/// Folders of dependencies and build output.
const IGNORED: [&str; 2] = ["node_modules", "target"];
const MAX_FILES: usize = 5000;
const MAX_BYTES: u64 = 256 << 20;
const MAX_DEPTH: usize = 20;

/// The cache folder of the commands that run in the copy.
const CACHE: &str = ".cache";

/// What the names of copies begin with, before the process that they belong to.
const PREFIX: &str = "proxy-author-";

/// The copy; dropping it deletes it.
#[derive(Debug)]
pub(super) struct FolderCopy {
    path: PathBuf,
    variables: Vec<(String, String)>,
    /// How much may still be copied.
    files_left: usize,
    bytes_left: u64,
}

impl FolderCopy {
    /// Copies a folder, with drafts in the place of what is saved. `recording` is one more file of it.
    pub(super) fn make(
        folder: &PolicyFolder,
        drafts: &Drafts,
        recording: Option<&str>,
    ) -> Result<FolderCopy, Vec<Diagnostic>> {
        let config = ConfigFiles::read(folder)?;
        let mut copy = FolderCopy::new(config.as_ref()).map_err(|error| vec![unwritable(&error)])?;
        copy.add_below(&folder.root, Path::new(""), 0).map_err(|problem| vec![problem])?;
        if let Some(config) = &config {
            copy.add_config(folder, config)?;
        }
        if let Some(recording) = recording {
            copy.add_file(&folder.root, Path::new(recording)).map_err(|problem| vec![problem])?;
        }
        for (path, text) in drafts {
            copy.write(Path::new(path.as_str()), text).map_err(|error| vec![unwritable(&error)])?;
        }
        Ok(copy)
    }

    fn new(config: Option<&ConfigFiles>) -> io::Result<FolderCopy> {
        let mut bytes = [0; 12];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let name = format!("{PREFIX}{}-{}", std::process::id(), proxy_json::hex(&bytes));
        let path = std::env::temp_dir().canonicalize()?.join(name);
        // Fails if there is anything of that name.
        DirBuilder::new().mode(0o700).create(&path)?;
        let mut copy = FolderCopy { path, variables: Vec::new(), files_left: MAX_FILES, bytes_left: MAX_BYTES };
        let inside = |name: &str| copy.path.join(name).display().to_string();
        let own = [
            ("HOME", inside(".home")),
            ("TMPDIR", inside(".tmp")),
            ("XDG_CACHE_HOME", inside(CACHE)),
            ("XDG_STATE_HOME", inside(".state")),
            ("XDG_RUNTIME_DIR", inside(".run")),
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("LANG", "C.UTF-8".to_owned()),
            ("NO_COLOR", "1".to_owned()),
        ];
        let own: Vec<(String, String)> = own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let used = config.map(ConfigFiles::variables).unwrap_or_default();
        let stand_ins = used.iter().filter(|(name, _)| !own.iter().any(|(known, _)| known == name)).cloned();
        copy.variables = stand_ins.chain(own.clone()).collect();
        Ok(copy)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The environment of a process that works with the copy.
    pub(super) fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// A text of such a process, with the paths of the folder as a model knows them.
    pub(super) fn without_path(&self, text: &str) -> String {
        let path = self.path.display().to_string();
        text.replace(&format!("{path}/"), "").replace(&path, ".")
    }

    fn add_config(&mut self, folder: &PolicyFolder, config: &ConfigFiles) -> Result<(), Vec<Diagnostic>> {
        let failed = |error: io::Error| vec![unwritable(&error)];
        for (path, text) in config.texts(&folder.root) {
            self.write(&path, text).map_err(failed)?;
        }
        for path in config.others(&folder.root) {
            if folder.root.join(&path).is_file() {
                self.add_file(&folder.root, &path).map_err(|problem| vec![problem])?;
            }
        }
        let Some(name) = folder.config_name() else { return Ok(()) };
        let Some(cache) = &folder.cache else { return Ok(()) };
        let own_cache = self.path.join(CACHE).join(proxy_base::NAME);
        fs::create_dir_all(&own_cache).map_err(failed)?;
        let lists = config.lists(cache, &self.path, &name, &own_cache);
        for (from, to) in lists.map_err(|problems| relative_to(&self.path, problems))? {
            fs::copy(from, to).map_err(failed)?;
        }
        Ok(())
    }

    /// Copies what lies in a folder below the root, and not what links lead to.
    fn add_below(&mut self, root: &Path, below: &Path, depth: usize) -> Result<(), Diagnostic> {
        let unreadable = |error: io::Error| {
            Diagnostic::error(format!("cannot read the folder `{}`: {error}", Path::new(".").join(below).display()))
        };
        let entries = match fs::read_dir(root.join(below)) {
            Ok(entries) => entries,
            // A folder of somebody else's below this one.
            Err(error) if depth > 0 && error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
            Err(error) => return Err(unreadable(error)),
        };
        for entry in entries {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name();
            let path = below.join(&name);
            let Ok(kind) = entry.file_type() else { continue };
            let is_ignored = name.to_string_lossy().starts_with('.') || IGNORED.iter().any(|ignored| name == *ignored);
            if kind.is_dir() && !is_ignored && depth < MAX_DEPTH {
                self.add_below(root, &path, depth + 1)?;
            } else if kind.is_file() && is_copied(&path) {
                self.add_file(root, &path)?;
            }
        }
        Ok(())
    }

    /// Copies one file, if it is one and no link.
    fn add_file(&mut self, root: &Path, below: &Path) -> Result<(), Diagnostic> {
        let unreadable = |error: io::Error| Diagnostic::error(format!("cannot read `{}`: {error}", below.display()));
        let bytes = read_below(root, below, self.bytes_left).map_err(unreadable)?;
        let size = bytes.len() as u64;
        if self.files_left == 0 || size > self.bytes_left {
            let most = MAX_BYTES >> 20;
            let problem = format!("the folder has more than {MAX_FILES} scripts, or more than {most} MiB of them");
            return Err(Diagnostic::error(problem).hint("start `proxy author` in the folder of the config"));
        }
        self.files_left -= 1;
        self.bytes_left -= size;
        self.write_bytes(below, &bytes).map_err(|error| unwritable(&error))
    }

    fn write(&self, below: &Path, text: &str) -> io::Result<()> {
        self.write_bytes(below, text.as_bytes())
    }

    fn write_bytes(&self, below: &Path, bytes: &[u8]) -> io::Result<()> {
        let path = self.path.join(below);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, bytes)
    }
}

impl Drop for FolderCopy {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::debug!(%error, "cannot delete the copy of the folder");
        }
    }
}

/// The problems with the paths of the folder as a model knows them.
pub(super) fn relative_to(root: &Path, mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for place in problems.iter_mut().filter_map(|problem| problem.place.as_mut()) {
        if let Ok(below) = Path::new(&place.file).strip_prefix(root) {
            place.file = below.display().to_string();
        }
    }
    problems
}

/// Deletes the copies of processes that were killed before they could.
pub(super) fn delete_abandoned() {
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok());
        let Some(owner) = owner.and_then(Pid::from_raw) else { continue };
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && test_kill_process(owner) == Err(Errno::SRCH) {
            // That of somebody else stays.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_copied(path: &Path) -> bool {
    path.extension().is_some_and(|extension| COPIED.iter().any(|copied| extension == *copied))
}

/// The bytes of a file in the folder, at most one more than `most`. Links that lead out of it are not followed.
pub(super) fn read_below(root: &Path, below: &Path, most: u64) -> io::Result<Vec<u8>> {
    let path = root.join(below);
    let folder = path.parent().unwrap_or(root).canonicalize()?;
    if !folder.starts_with(root) {
        return Err(io::Error::other("a link leads out of the folder"));
    }
    read_plain_file(&path, most)
}

/// The bytes of a file that is neither a link nor a device, at most one more than `most`.
fn read_plain_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unwritable(error: &io::Error) -> Diagnostic {
    Diagnostic::error(format!("cannot copy the folder to the system's folder for temporary files: {error}"))
}
