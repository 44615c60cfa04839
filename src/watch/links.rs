//! What a path really names: every link on the way to it can be changed too.

use std::path::{Component, Path, PathBuf};

/// More than the system follows itself.
const MAX_LINKS: usize = 40;

/// The links that lie on the way to a path, each by its own path, and last the path that is really meant.
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

/// The first link of a path, and the same path behind it.
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

/// Without `.` and `..`: everything before them is no link.
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
