//! The files that extensions are made of: their own, and all that they load.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use proxy_author::lint::{Role, loaded_files};
use proxy_base::diagnostic::Diagnostic;
use proxy_config::ExtensionPath;
use proxy_engine::extension;
use proxy_script::{on_big_stack, parse};

/// Whether a file is a part of an extension, or would be one. The file need not be there yet; its folder has no links.
///
/// # Errors
/// What an extension loads cannot be found out.
pub(super) fn is_loaded_by_extension(extensions: &[ExtensionPath], file: &Path) -> Result<bool, Diagnostic> {
    for configured in extensions {
        if is_below(&configured.path, file) {
            return Ok(true);
        }
        // Where there is nothing, nothing is loaded.
        for candidate in extension::candidates(&configured.path).unwrap_or_default() {
            let is_part = || Ok::<bool, Diagnostic>(loads(&candidate)?.iter().any(|loaded| is_same(loaded, file)));
            if is_same(&candidate, file) || (is_near(&candidate, file) && is_part()?) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether a file is below a configured path, or below the folders before its first wildcard.
fn is_below(configured: &Path, file: &Path) -> bool {
    let written = configured.to_string_lossy();
    let plain = written.split(['*', '?', '[']).next().unwrap_or_default();
    let is_plain = plain.len() == written.len();
    let above = if is_plain { plain } else { plain.rsplit_once('/').map_or("", |(above, _)| above) };
    let above = Path::new(above);
    let real = above.canonicalize();
    file.starts_with(above) || real.is_ok_and(|real| file.starts_with(real))
}

/// Whether a file is below the folder of an extension, which can load nothing else.
fn is_near(candidate: &Path, file: &Path) -> bool {
    let folder = candidate.parent().and_then(|folder| folder.canonicalize().ok());
    folder.is_none_or(|folder| file.starts_with(folder))
}

/// Every file that an extension loads or tries to load, directly or not.
fn loads(candidate: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let unknown = |problem: &str| {
        let shown = candidate.file_name().unwrap_or_default().display();
        let problem = format!("the extension `{shown}` {problem}, so that it is not known which files belong to it");
        Diagnostic::error(problem).hint("a person corrects the extension first")
    };
    let source = extension::read(candidate).map_err(|_| unknown("cannot be read"))?;
    let mut found = Vec::new();
    for loaded in loaded_files(&source, Role::Extension, candidate.parent()) {
        let is_parsed = on_big_stack(|| parse(&loaded).is_ok()).unwrap_or(false);
        if !is_parsed {
            return Err(unknown("or a file that it loads does not parse"));
        }
        found.extend(loaded.paths());
    }
    Ok(found)
}

/// Whether two paths lead to one file. The first may lead through links, and to a file that is not there.
fn is_same(loaded: &Path, file: &Path) -> bool {
    let in_folder = || Some(loaded.parent()?.canonicalize().ok()?.join(loaded.file_name()?));
    let real = loaded.canonicalize().ok().or_else(in_folder);
    let identity = |path: &Path| path.metadata().ok().map(|data| (data.dev(), data.ino()));
    // A file system may take two names for one.
    let is_one = identity(loaded).is_some_and(|loaded| identity(file) == Some(loaded));
    is_one || real.is_some_and(|real| real == file)
}
