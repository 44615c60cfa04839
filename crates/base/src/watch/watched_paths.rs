//! The set of paths to watch: single files, and all files directly in some folders.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::links;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedPaths {
    files: BTreeSet<PathBuf>,
    /// Folders in which every file is watched.
    whole_folders: BTreeSet<PathBuf>,
}

impl WatchedPaths {
    pub fn file(&mut self, path: &Path) {
        self.files.insert(absolute(path));
    }

    pub fn folder(&mut self, path: &Path) {
        self.whole_folders.insert(absolute(path));
    }

    /// Adds the symbolic links on the way to each path, and their targets.
    pub(super) fn with_links(self) -> Self {
        let mut all = WatchedPaths::default();
        for file in self.files {
            all.files.extend(links::resolve(&file));
            all.files.insert(file);
        }
        for folder in self.whole_folders {
            let mut links = links::resolve(&folder);
            all.whole_folders.extend(links.pop());
            all.files.extend(links);
            all.whole_folders.insert(folder);
        }
        all
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }

    /// Whether there is a path that the others do not have.
    pub(super) fn has_more_than(&self, others: &WatchedPaths) -> bool {
        !self.files.is_subset(&others.files) || !self.whole_folders.is_subset(&others.whole_folders)
    }

    /// The folders to watch: the given ones and those of the files. For a missing folder, its nearest existing ancestor,
    /// in which it may appear. The folder above is not watched: it may be a busy one, and a watched folder itself reports
    /// that it was deleted or moved.
    pub(super) fn folders(&self) -> BTreeSet<PathBuf> {
        let direct =
            self.files.iter().filter_map(|file| file.parent()).chain(self.whole_folders.iter().map(PathBuf::as_path));
        direct.filter_map(|folder| folder.ancestors().find(|ancestor| ancestor.is_dir())).map(Path::to_owned).collect()
    }

    /// Whether a change of this path may affect a watched path.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        self.files.contains(path)
            || path.parent().is_some_and(|folder| self.whole_folders.contains(folder))
            || self.files.iter().chain(&self.whole_folders).any(|paths| paths.starts_with(path))
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
