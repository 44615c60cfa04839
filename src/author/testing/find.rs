//! Which files are tests.

use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;

const ENDING: &str = "_test.star";
/// Folders that hold what others made.
const FOREIGN: [&str; 2] = ["node_modules", "target"];

/// Every `*_test.star` among the given files and below the given folders, sorted, each once.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Diagnostic> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            below(path, &mut found)?;
        } else if !path.exists() {
            return Err(Diagnostic::error(format!("there is no file or folder `{}`", path.display())));
        } else if is_test(path) {
            found.push(path.clone());
        } else {
            return Err(not_a_test(path));
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Diagnostic> {
    let unreadable =
        |error: std::io::Error| Diagnostic::error(format!("the folder `{}` cannot be read: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        // A link to a folder may lead back to where we came from.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if !name.starts_with('.') && !FOREIGN.contains(&name.as_str()) {
                below(&path, found)?;
            }
        } else if is_test(&path) && path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

fn is_test(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ENDING))
}

fn not_a_test(path: &Path) -> Diagnostic {
    let problem = Diagnostic::error(format!("`{}` is no test: its name does not end in `{ENDING}`", path.display()));
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!("{stem}{ENDING}"));
    if beside.is_file() { problem.hint(format!("did you mean `{}`?", beside.display())) } else { problem }
}
