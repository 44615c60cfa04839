//! The folders in which installers and version managers put programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Below the home folder. A `*` stands for the folder of a version.
const IN_HOME: [&str; 16] = [
    ".local/bin",
    ".volta/bin",
    ".asdf/shims",
    ".local/share/mise/shims",
    ".nodenv/shims",
    ".nvm/versions/node/*/bin",
    ".local/share/fnm/node-versions/*/installation/bin",
    "Library/Application Support/fnm/node-versions/*/installation/bin",
    ".npm-global/bin",
    ".bun/bin",
    ".deno/bin",
    ".pyenv/shims",
    ".cargo/bin",
    "go/bin",
    ".rd/bin",
    ".docker/bin",
];

const OF_SYSTEM: [&str; 5] =
    ["/opt/homebrew/bin", "/usr/local/bin", "/home/linuxbrew/.linuxbrew/bin", "/opt/local/bin", "/snap/bin"];

/// The folders that exist, those of version managers first, and of several versions the newest first.
pub(super) fn list(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(nvm) = variable("NVM_DIR") {
        add(&PathBuf::from(nvm), "versions/node/*/bin", &mut folders);
    }
    if let Some(home) = variable("HOME") {
        for pattern in IN_HOME {
            add(Path::new(&home), pattern, &mut folders);
        }
    }
    folders.extend(OF_SYSTEM.map(PathBuf::from));
    folders.retain(|folder| folder.is_dir());
    folders
}

fn add(root: &Path, pattern: &str, folders: &mut Vec<PathBuf>) {
    let Some((before, after)) = pattern.split_once("*/") else {
        folders.push(root.join(pattern));
        return;
    };
    let Ok(entries) = root.join(before).read_dir() else { return };
    let mut versions: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    versions.sort_by_key(|version| std::cmp::Reverse(numbers(version)));
    folders.extend(versions.into_iter().map(|version| version.join(after)));
}

/// The numbers in a name like `v22.9.0`.
fn numbers(version: &Path) -> Vec<u64> {
    let name = version.file_name().unwrap_or_default().to_string_lossy();
    name.split(|character: char| !character.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn the_newest_version_is_first() {
        let home = testing::folder("versions");
        for version in ["v9.11.2", "v22.9.0", "v22.10.1"] {
            std::fs::create_dir_all(home.join(".nvm/versions/node").join(version).join("bin")).unwrap();
        }
        let folders = list(|name| (name == "HOME").then(|| home.as_os_str().to_owned()));
        let versions: Vec<_> =
            folders.iter().filter(|folder| folder.starts_with(&home)).map(|folder| version_of(folder)).collect();
        assert_eq!(versions, ["v22.10.1", "v22.9.0", "v9.11.2"]);
    }

    fn version_of(folder: &Path) -> String {
        folder.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned()
    }
}
