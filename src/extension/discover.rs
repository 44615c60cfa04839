//! Which files are extensions.

use std::path::{Path, PathBuf};

use super::{ExtensionBackend, bundled, load};
use crate::diagnostic::Diagnostic;
use crate::script::{Limits, Pool, Source};

/// Loads every extension below the given files, folders and globs, sorted, and those shipped in the binary if asked.
/// All that is wrong is told at once.
pub fn discover(paths: &[PathBuf], bundled: bool, pool: &Pool) -> Result<Vec<ExtensionBackend>, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    let mut sources: Vec<Source> = Vec::new();
    if bundled {
        sources.extend(bundled::BUNDLED.iter().map(bundled::Bundled::script));
    }
    for path in paths {
        match files(path) {
            Ok(files) => sources.extend(files.iter().filter_map(|file| read(file, &mut problems))),
            Err(problem) => problems.push(problem),
        }
    }
    let mut loaded: Vec<ExtensionBackend> = Vec::new();
    for source in &sources {
        match load(source, &Limits::SESSION_SCRIPT) {
            Ok(None) => {}
            Ok(Some(extension)) => match loaded.iter().find(|other| other.name() == extension.name) {
                Some(other) => problems.push(Diagnostic::error(format!(
                    "two extensions are called `{}`: `{}` and `{}`",
                    extension.name,
                    other.source_name(),
                    extension.source_name
                ))),
                None => loaded.push(ExtensionBackend::new(extension, pool.clone())),
            },
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(loaded) } else { Err(problems) }
}

/// The extension files that a path of the config means, sorted.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let shown = path.display();
    let mut found: Vec<PathBuf> = if path.is_dir() {
        let entries = std::fs::read_dir(path)
            .map_err(|error| Diagnostic::error(format!("the extensions folder `{shown}` cannot be read: {error}")))?;
        entries.flatten().map(|entry| entry.path()).filter(|file| is_script(file)).collect()
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

fn is_script(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.is_file() && name.ends_with(".star") && !name.ends_with("_test.star")
}

fn read(file: &Path, problems: &mut Vec<Diagnostic>) -> Option<Source> {
    let shown = file.display().to_string();
    match std::fs::read_to_string(file) {
        Ok(text) => Some(Source { name: shown, text: text.into(), path: Some(file.to_owned()) }),
        Err(error) => {
            problems.push(Diagnostic::error(format!("the extension `{shown}` cannot be read: {error}")));
            None
        }
    }
}
