//! Finds the files that a script can `load()`: project files and embedded libraries, which are written to files on
//! demand.

use std::path::{Path, PathBuf};

use proxy_base::process::atomic_file;
use proxy_script::Source;

/// Limits of the search: the root may be a home directory.
const MAX_DEPTH: usize = 6;
const MAX_ENTRIES: usize = 5_000;

/// The paths as a `load()` in the file `own` writes them: relative to the folder of `own`, and from the root with `//`.
/// Test files are left out.
pub(super) fn loadable(root: &Path, own: Option<&Path>) -> Vec<String> {
    let mut entries = 0;
    let mut files = Vec::new();
    walk(root, "", MAX_DEPTH, &mut entries, &mut files);
    let folder = own.and_then(Path::parent).unwrap_or(root);
    let prefix = folder.strip_prefix(root).ok().map(|folder| match folder.to_string_lossy() {
        root if root.is_empty() => String::new(),
        below => format!("{below}/"),
    });
    let own = own.and_then(|own| Some(own.strip_prefix(root).ok()?.to_string_lossy().into_owned()));
    files.retain(|file| Some(file) != own.as_ref());
    let relative = files.iter().filter_map(|file| file.strip_prefix(prefix.as_deref()?).map(str::to_owned));
    let relative: Vec<String> = relative.collect();
    relative.into_iter().chain(files.iter().map(|file| format!("//{file}"))).collect()
}

/// Writes an embedded library into a folder, so that an editor can show it. None if it cannot be written.
pub(super) fn written(library: &Source, folder: &Path) -> Option<PathBuf> {
    let name = library.name.rsplit('/').next()?;
    let path = folder.join(name);
    let is_current = std::fs::read_to_string(&path).is_ok_and(|text| text == *library.text);
    if !is_current {
        atomic_file::replace(&path, library.text.as_bytes()).ok()?;
        // An editor then says that changes of the copy have no effect.
        if let Ok(mut permissions) = std::fs::metadata(&path).map(|metadata| metadata.permissions()) {
            permissions.set_readonly(true);
            let _ = std::fs::set_permissions(&path, permissions);
        }
    }
    Some(path)
}

fn walk(folder: &Path, prefix: &str, depth_left: usize, visited: &mut usize, files: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().map(|entry| (entry.file_name(), entry)).collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, entry) in entries {
        *visited += 1;
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        if *visited > MAX_ENTRIES {
            return;
        }
        let path = format!("{prefix}{name}");
        if name.ends_with(".star") && !name.ends_with("_test.star") {
            files.push(path);
        } else if depth_left > 0
            && !["node_modules", "target"].contains(&name)
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
        {
            walk(&entry.path(), &format!("{path}/"), depth_left - 1, visited, files);
        }
    }
}
