//! Resolves symbolic links, each of which has to be watched too.

use std::path::{Component, Path, PathBuf};

/// Maximum number of links to follow, as in the kernel.
const MAX_LINKS: usize = 40;

/// The paths of all symbolic links on the way to a path, followed by the resolved path.
pub(super) fn resolve(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut path = path.to_owned();
    while found.len() < MAX_LINKS {
        match first_link(&path) {
            Some((link, next)) => {
                found.push(link);
                path = next;
            }
            None => break,
        }
    }
    found.push(path);
    found
}

/// The first symbolic link in a path, and the path with that link resolved.
fn first_link(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut prefix = PathBuf::new();
    let mut components = path.components();
    while let Some(component) = components.next() {
        prefix.push(component);
        let Ok(target) = std::fs::read_link(&prefix) else { continue };
        let folder = prefix.parent().unwrap_or(Path::new("/"));
        return Some((prefix.clone(), normalize(&folder.join(target).join(components.as_path()))));
    }
    None
}

/// Removes `.` and `..`. That is correct because the components before them are not links.
fn normalize(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normalized.pop();
            }
            other => normalized.push(other),
        }
    }
    normalized
}
