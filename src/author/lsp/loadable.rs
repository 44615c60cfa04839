//! The files of a project that a `load()` can name.

use std::path::Path;

/// Deeper folders, and more files, nobody wants to choose from; and a script may lie in somebody's home.
const DEEPEST: usize = 6;
const MOST_SEEN: usize = 5_000;

/// As they are written in a `load()`: from the root, and from the folder of the file that loads. Tests are for nobody
/// else.
pub(super) fn loadable(root: &Path, own: Option<&Path>) -> Vec<String> {
    let mut seen = 0;
    let mut files = Vec::new();
    walk(root, "", DEEPEST, &mut seen, &mut files);
    let folder = own.and_then(Path::parent).unwrap_or(root);
    let beside = folder.strip_prefix(root).ok().map(|folder| match folder.to_string_lossy() {
        here if here.is_empty() => String::new(),
        below => format!("{below}/"),
    });
    let own = own.and_then(|own| Some(own.strip_prefix(root).ok()?.to_string_lossy().into_owned()));
    files.retain(|file| Some(file) != own.as_ref());
    let near = files.iter().filter_map(|file| file.strip_prefix(beside.as_deref()?).map(str::to_owned));
    let near: Vec<String> = near.collect();
    near.into_iter().chain(files.iter().map(|file| format!("//{file}"))).collect()
}

fn walk(folder: &Path, shown: &str, deeper: usize, seen: &mut usize, files: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().map(|entry| (entry.file_name(), entry)).collect();
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    for (name, entry) in entries {
        *seen += 1;
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        if *seen > MOST_SEEN {
            return;
        }
        let shown = format!("{shown}{name}");
        if name.ends_with(".star") && !name.ends_with("_test.star") {
            files.push(shown);
        } else if deeper > 0
            && !["node_modules", "target"].contains(&name)
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
        {
            walk(&entry.path(), &format!("{shown}/"), deeper - 1, seen, files);
        }
    }
}
