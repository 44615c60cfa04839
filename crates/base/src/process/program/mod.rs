//! Looks up programs by name. A program that is started from a desktop has a short `PATH`, without the folders that version
//! managers add to it in the start-up files of the shell.

mod install_folders;
mod login_shell;
#[cfg(test)]
mod testing;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use login_shell::ShellPath;

/// Resolves a name without `/`: the first executable file with this name in the folders of a `PATH`.
pub fn program_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    let mut files = std::env::split_paths(path).map(|folder| folder.join(name));
    // An empty folder is no folder of programs.
    files.find(|file| file.as_os_str() != name && file.is_file() && is_executable(file))
}

/// Whether anybody may execute this file.
pub fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.permissions().mode() & 0o111 != 0)
}

/// A program that was found.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundProgram {
    pub file: PathBuf,
    /// The `PATH` to start it with, where it finds the programs that it needs itself: `npx` needs `node`. `None` if the
    /// `PATH` of the search will do.
    pub path: Option<OsString>,
}

/// A program that was not found anywhere.
#[derive(Debug)]
pub struct ProgramNotFound {
    shell: ShellPath,
}

/// Finds a program by its name: in `PATH`, then where version managers install programs, then in the `PATH` of the log-in
/// shell. These are environment variables. Blocks for up to 2 s while the shell runs, once in the life of the process.
pub fn find_program(name: &str, variable: impl Fn(&str) -> Option<OsString>) -> Result<FoundProgram, ProgramNotFound> {
    let path = variable("PATH").unwrap_or_default();
    if let Some(file) = program_in(&path, name) {
        return Ok(FoundProgram { file, path: None });
    }
    for folder in install_folders::list(&variable) {
        let file = folder.join(name);
        if file.is_file() && is_executable(&file) {
            let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
            return Ok(FoundProgram { file, path: std::env::join_paths(folders).ok() });
        }
    }
    let shell = login_shell::path(&variable);
    let file = match &shell {
        ShellPath::Known(path) => program_in(path, name).map(|file| (file, path.clone())),
        _ => None,
    };
    match file {
        Some((file, path)) => Ok(FoundProgram { file, path: Some(path) }),
        None => Err(ProgramNotFound { shell }),
    }
}

/// Where it was looked for, after "not found".
impl fmt::Display for ProgramNotFound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folders = "in `PATH` or in the folders of nvm, Homebrew and others";
        match &self.shell {
            ShellPath::Known(_) => formatter
                .write_str("in `PATH`, in the folders of nvm, Homebrew and others, or in the log-in shell's `PATH`"),
            ShellPath::None => write!(formatter, "{folders}"),
            ShellPath::TimedOut => write!(formatter, "{folders}; the log-in shell did not print its `PATH` within 2 s"),
            ShellPath::Failed => write!(formatter, "{folders}; the log-in shell did not print its `PATH`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_in_path_then_where_it_may_be_installed_then_in_the_shells_path() {
        let home = testing::folder("search");
        let [in_path, node, other] = ["bin", ".nvm/versions/node/v22.9.0/bin", "odd place"].map(|name| home.join(name));
        for file in [
            in_path.join("notes-uvx"),
            node.join("notes-npx"),
            home.join(".local/bin/notes-uvx"),
            other.join("notes-deno"),
        ] {
            testing::program(&file, "");
        }
        let shell = home.join("shell");
        testing::program(&shell, &format!("echo Welcome!\nPATH='{}':$PATH\neval \"$4\"", other.display()));
        let variable = |name: &str| match name {
            "PATH" => Some(OsString::from(format!("{}:/bin:/usr/bin", in_path.display()))),
            "HOME" => Some(home.as_os_str().to_owned()),
            "SHELL" => Some(shell.as_os_str().to_owned()),
            _ => None,
        };
        let found = |name| find_program(name, variable).unwrap();
        let path =
            |folder: &Path| Some(OsString::from(format!("{}:{}:/bin:/usr/bin", folder.display(), in_path.display())));
        assert_eq!(found("notes-uvx"), FoundProgram { file: in_path.join("notes-uvx"), path: None });
        assert_eq!(found("notes-npx"), FoundProgram { file: node.join("notes-npx"), path: path(&node) });
        assert_eq!(found("notes-deno"), FoundProgram { file: other.join("notes-deno"), path: path(&other) });
        let missing = find_program("no-such-program", variable).unwrap_err().to_string();
        assert_eq!(missing, "in `PATH`, in the folders of nvm, Homebrew and others, or in the log-in shell's `PATH`");
    }
}
