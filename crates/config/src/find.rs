//! Locates the config file.

use std::path::{Path, PathBuf};

use proxy_base::NAME;
use proxy_base::diagnostic::Diagnostic;

const NAMES: [&str; 2] = ["proxy.yaml", "proxy.json"];
/// The folder of earlier versions in the user's config folder.
const OLD_FOLDER: &str = "proxy";

/// The file named on the command line, or else the one in the current folder, or else the one in the user's config
/// folder; `None` if there is none.
pub fn find(
    explicit: Option<&Path>,
    current_folder: &Path,
    user_config_folder: Option<&Path>,
) -> Result<Option<PathBuf>, Diagnostic> {
    if let Some(path) = explicit {
        if path.is_file() {
            return Ok(Some(path.to_owned()));
        }
        let problem = Diagnostic::error(format!("config file `{}` not found", path.display()));
        return Err(problem.hint("create one with `proxy init`"));
    }
    let user_folders =
        user_config_folder.into_iter().flat_map(|folder| [NAME, OLD_FOLDER].map(|name| folder.join(name)));
    let folders = std::iter::once(current_folder.to_owned()).chain(user_folders);
    Ok(folders.flat_map(|folder| NAMES.map(|name| folder.join(name))).find(|path| path.is_file()))
}

/// The warning about a config file in the folder of earlier versions.
pub fn old_place(path: &Path, user_config_folder: &Path) -> Option<Diagnostic> {
    if path.parent() != Some(&user_config_folder.join(OLD_FOLDER)) {
        return None;
    }
    let new = user_config_folder.join(NAME);
    let warning = Diagnostic::warning(format!("`{}` is in the config folder of earlier versions", path.display()));
    Some(warning.hint(format!("move it to `{}`", new.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_folder_comes_before_the_users_and_yaml_before_json() {
        let root = std::env::temp_dir().join(format!("proxy-find-{}", std::process::id()));
        let (here, user) = (root.join("here"), root.join("user"));
        std::fs::create_dir_all(&here).unwrap();
        std::fs::create_dir_all(user.join(OLD_FOLDER)).unwrap();
        std::fs::create_dir_all(user.join(NAME)).unwrap();
        let found = || find(None, &here, Some(&user)).unwrap();
        assert_eq!(found(), None);
        let old = user.join(OLD_FOLDER).join("proxy.json");
        for path in [old.clone(), user.join(NAME).join("proxy.json"), here.join("proxy.json"), here.join("proxy.yaml")]
        {
            std::fs::write(&path, "").unwrap();
            assert_eq!(found(), Some(path.clone()));
            assert_eq!(old_place(&path, &user).is_some(), path == old);
        }
        let explicit = old;
        assert_eq!(find(Some(&explicit), &here, None).unwrap(), Some(explicit));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_named_file_that_is_missing_is_an_error() {
        let error = find(Some(Path::new("nowhere.yaml")), Path::new("."), None).unwrap_err();
        assert_eq!(error.message, "config file `nowhere.yaml` not found");
    }
}
