//! Finds test files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use proxy_base::diagnostic::Diagnostic;

const SUFFIX: &str = "_test.star";
/// Folders of dependencies and build output, which are not searched.
const IGNORED_FOLDERS: [&str; 2] = ["node_modules", "target"];

/// Returns the `*_test.star` files among the given files and below the given folders, sorted and without duplicates.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Diagnostic> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            find_below(path, &mut found)?;
        } else if !path.exists() {
            return Err(Diagnostic::error(format!("file or folder `{}` does not exist", path.display())));
        } else if is_test(path) {
            found.push(path.clone());
        } else {
            return Err(not_a_test(path));
        }
    }
    found.sort();
    // One path may name a folder and another a folder in it, as `.` and `extensions` do.
    let mut seen = HashSet::new();
    found.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    Ok(found)
}

fn find_below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Diagnostic> {
    let unreadable =
        |error: std::io::Error| Diagnostic::error(format!("cannot read folder `{}`: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        // Symbolic links to folders are not followed: they may form a cycle.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if !name.starts_with('.') && !IGNORED_FOLDERS.contains(&name.as_str()) {
                find_below(&path, found)?;
            }
        } else if is_test(&path) && path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

fn is_test(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(SUFFIX))
}

fn not_a_test(path: &Path) -> Diagnostic {
    let problem =
        Diagnostic::error(format!("`{}` is not a test file: its name does not end in `{SUFFIX}`", path.display()));
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let sibling = path.with_file_name(format!("{stem}{SUFFIX}"));
    if sibling.is_file() { problem.hint(format!("did you mean `{}`?", sibling.display())) } else { problem }
}
