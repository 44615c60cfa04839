//! Finds the files of extensions and opens them.

mod folders;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use folders::folders;

use super::load::DESCRIBE;
use super::{ExtensionBackend, load};
use proxy_base::diagnostic::Diagnostic;
use proxy_fiber::Pool;
use proxy_host_io::HostIo;
use proxy_script::{Limits, Source};

/// Reads the file of an extension.
pub fn read(file: &Path) -> Result<Source, Diagnostic> {
    let shown = file.display().to_string();
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Source::at(shown, text, file)),
        Err(error) => Err(Diagnostic::error(format!("the extension `{shown}` cannot be read: {error}"))),
    }
}

/// Loads an extension as a backend. None if the file does not define `describe_extension()`: it is a library.
pub fn open(source: &Source, pool: &Pool, host_io: &Arc<HostIo>) -> Result<Option<ExtensionBackend>, Diagnostic> {
    let extension = load(source, &Limits::SESSION_SCRIPT, host_io)?;
    for line in extension.iter().flat_map(|extension| &extension.log) {
        line.level.record(&line.message, &line.fields);
    }
    Ok(extension.map(|extension| ExtensionBackend::new(extension, pool.clone())))
}

/// The error for two extensions with the same name.
pub fn clash(first: &ExtensionBackend, second: &ExtensionBackend) -> Diagnostic {
    Diagnostic::error(format!(
        "two extensions are named `{}`: `{}` and `{}`",
        first.name(),
        first.source_name(),
        second.source_name()
    ))
    .note(format!("the extension in `{}` was loaded first and is used", first.source_name()))
    .hint("give one of them another `name` in Extension()")
}

/// The error for an extension that has the name of a server.
pub fn clash_with_server(extension: &ExtensionBackend) -> Diagnostic {
    let (name, file) = (extension.name(), extension.source_name());
    Diagnostic::error(format!("the extension `{name}` has the name of a server: `{file}`"))
        .note("the server stays")
        .hint("give the extension another `name` in Extension(), or the server another one in the config")
}

/// The files that a configured path (a file, a folder or a glob pattern) refers to, sorted. Folders are searched with those
/// below them.
pub fn candidates(path: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let shown = path.display();
    let mut found: Vec<PathBuf> = if path.is_dir() {
        std::fs::read_dir(path)
            .map_err(|error| Diagnostic::error(format!("the extensions folder `{shown}` cannot be read: {error}")))?;
        let mut found = Vec::new();
        for folder in folders(path)? {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let scripts = entries.map(|entry| entry.path()).filter(|file| is_script(file));
            found.extend(scripts.filter(|file| folder == path || may_describe(file)));
        }
        found
    } else if path.is_file() {
        vec![path.to_owned()]
    } else if path.to_string_lossy().contains(['*', '?', '[']) {
        let matches = glob::glob(&path.to_string_lossy())
            .map_err(|error| Diagnostic::error(format!("`{shown}` is not a pattern: {error}")))?;
        matches.flatten().filter(|file| is_script(file)).collect()
    } else {
        return Err(Diagnostic::error(format!("there is no extension at `{shown}`")));
    };
    found.sort();
    Ok(found)
}

/// Whether a file may be an extension. A library in a folder below is not loaded by itself: it may depend on files beside
/// the extension that loads it.
fn may_describe(file: &Path) -> bool {
    std::fs::read_to_string(file).map_or(true, |text| text.contains(DESCRIBE))
}

fn is_script(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.is_file() && name.ends_with(".star") && !name.ends_with("_test.star")
}
