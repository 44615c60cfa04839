//! The permissions that an extension declares.

use proxy_host_io::Hosts;
use proxy_script::ScriptError;

#[derive(Clone, Debug, Default)]
pub struct Permissions {
    /// Commands that it may run.
    pub exec: Vec<String>,
    pub hosts: Hosts,
    /// Environment variables that it may read; None allows all of them.
    pub env: Option<Vec<String>>,
    /// Folders whose files it may use, besides its own. `@roots` are those of the client.
    pub paths: Vec<String>,
}

/// Stands for the client's folders in `allowed_paths`.
const CLIENT_FOLDERS: &str = "@roots";

impl Permissions {
    /// Whether it may use the folders of the client.
    pub fn opens_client_folders(&self) -> bool {
        self.paths.iter().any(|path| path == CLIENT_FOLDERS)
    }

    /// The folders that are the same in every call.
    ///
    /// # Errors
    /// If a path looks like the name of other folders.
    pub fn fixed_paths(&self) -> Result<Vec<String>, ScriptError> {
        let fixed: Vec<String> = self.paths.iter().filter(|path| *path != CLIENT_FOLDERS).cloned().collect();
        match fixed.iter().find(|path| path.starts_with('@')) {
            None => Ok(fixed),
            Some(path) => Err(ScriptError::new(format!("`{path}` in `allowed_paths` names no folders")).hint(format!(
                "the client's folders are `{CLIENT_FOLDERS}`; a folder whose name begins with `@` is `./{path}`"
            ))),
        }
    }

    pub fn may_read_variable(&self, name: &str) -> bool {
        self.env.as_ref().is_none_or(|names| names.iter().any(|known| known == name))
    }
}
