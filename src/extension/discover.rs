//! Which files are extensions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{ExtensionBackend, bundled, load};
use crate::diagnostic::Diagnostic;
use crate::reach::Reach;
use crate::script::{Limits, Pool, Source};

/// Loads every extension below the given files, folders and globs, sorted, and those shipped in the binary if asked.
/// All that is wrong is told at once.
pub fn discover(
    paths: &[PathBuf],
    bundled: bool,
    pool: &Pool,
    reach: &Arc<Reach>,
) -> Result<Vec<ExtensionBackend>, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    let mut found: Vec<ExtensionBackend> = Vec::new();
    let mut take = |loaded: Result<Option<ExtensionBackend>, Diagnostic>| match loaded {
        Ok(None) => {}
        Ok(Some(extension)) => match clash(&found, &extension) {
            Some(problem) => problems.push(problem),
            None => found.push(extension),
        },
        Err(problem) => problems.push(problem),
    };
    if bundled {
        bundled::BUNDLED.iter().for_each(|bundled| take(load_source(&bundled.script(), pool, reach)));
    }
    let mut seen = Vec::new();
    for path in paths {
        match candidates(path) {
            Ok(files) => {
                let new: Vec<PathBuf> = files.into_iter().filter(|file| !seen.contains(file)).collect();
                new.iter().for_each(|file| take(load_file(file, pool, reach)));
                seen.extend(new);
            }
            Err(problem) => take(Err(problem)),
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

/// Loads one file. `None` if it describes no extension: then it is only there for others to load from.
pub fn load_file(file: &Path, pool: &Pool, reach: &Arc<Reach>) -> Result<Option<ExtensionBackend>, Diagnostic> {
    let shown = file.display().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Diagnostic::error(format!("the extension `{shown}` cannot be read: {error}")))?;
    load_source(&Source { name: shown, text: text.into(), path: Some(file.to_owned()) }, pool, reach)
}

fn load_source(source: &Source, pool: &Pool, reach: &Arc<Reach>) -> Result<Option<ExtensionBackend>, Diagnostic> {
    let extension = load(source, &Limits::SESSION_SCRIPT, reach)?;
    Ok(extension.map(|extension| ExtensionBackend::new(extension, pool.clone())))
}

/// Two extensions of one name: which files they are in.
pub fn clash(others: &[ExtensionBackend], extension: &ExtensionBackend) -> Option<Diagnostic> {
    let other = others.iter().find(|other| other.name() == extension.name())?;
    Some(Diagnostic::error(format!(
        "two extensions are called `{}`: `{}` and `{}`",
        extension.name(),
        other.source_name(),
        extension.source_name()
    )))
}

/// The files that a configured path stands for and that may hold extensions, sorted.
pub fn candidates(path: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
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
