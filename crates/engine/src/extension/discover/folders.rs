//! The folders in which extensions are searched for: a configured folder and those below it.

use std::path::{Path, PathBuf};

use proxy_base::diagnostic::Diagnostic;

/// How many levels below a configured folder are searched.
const MAX_DEPTH: usize = 8;
/// More folders are a mistake, such as the folder of all projects. Each of them is watched.
const MAX_FOLDERS: usize = 1000;
/// The folder of an npm project's dependencies, which is not searched.
const DEPENDENCIES: &str = "node_modules";

/// A folder and the folders below it, without hidden ones, dependencies, and links, which may form a cycle.
pub fn folders(root: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let mut found = vec![root.to_owned()];
    let mut level = 0..1;
    for _ in 0..MAX_DEPTH {
        let begin = found.len();
        for index in level {
            // Another process may just have deleted it, or closed it for us.
            let entries = std::fs::read_dir(&found[index]).into_iter().flatten().flatten();
            let folders = entries.filter(|entry| {
                let name = entry.file_name();
                entry.file_type().is_ok_and(|kind| kind.is_dir())
                    && !name.as_encoded_bytes().starts_with(b".")
                    && name != DEPENDENCIES
            });
            found.extend(folders.map(|entry| entry.path()));
            if found.len() > MAX_FOLDERS {
                return Err(Diagnostic::error(format!(
                    "the extensions folder `{}` has more than {MAX_FOLDERS} folders below it",
                    root.display()
                ))
                .hint("name the folders with the extensions"));
            }
        }
        level = begin..found.len();
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn folders_below_without_hidden_ones_dependencies_and_links() {
        let root = std::env::temp_dir().join(format!("folders-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for below in ["a/b/node_modules/c", ".git/d", "1/2/3/4/5/6/7/8/9"] {
            fs::create_dir_all(root.join(below)).unwrap();
        }
        symlink(&root, root.join("a/link")).unwrap();
        let mut found: Vec<String> = folders(&root)
            .unwrap()
            .iter()
            .map(|folder| folder.strip_prefix(&root).unwrap().display().to_string())
            .collect();
        found.sort();
        let numbers = (1..=8).map(|last| (1..=last).map(|n: u8| n.to_string()).collect::<Vec<_>>().join("/"));
        let expected: Vec<String> =
            [String::new()].into_iter().chain(numbers).chain(["a".into(), "a/b".into()]).collect();
        assert_eq!(found, expected);
        for number in 0..=MAX_FOLDERS {
            fs::create_dir(root.join(format!("a/{number}"))).unwrap();
        }
        assert!(folders(&root).is_err());
        fs::remove_dir_all(&root).unwrap();
    }
}
