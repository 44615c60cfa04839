//! Why the process of a server could not be started.

use std::path::Path;

/// Describes why a process could not be started. Clients see the text, so the paths are only in the log.
pub(super) fn cannot_start(server: &str, command: &str, folder: Option<&Path>, error: &std::io::Error) -> String {
    // The supervisor says why in its own words.
    tracing::debug!(server, command, folder = ?folder, %error, "cannot start the process");
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return "the directory `cwd` does not exist".to_owned();
    }
    let path = folder.unwrap_or(Path::new("")).join(command);
    let is_path = command.contains(std::path::MAIN_SEPARATOR);
    let command = Path::new(command).file_name().unwrap_or_default().display();
    match error.kind() {
        std::io::ErrorKind::NotFound if is_path && path.is_file() => {
            format!("the interpreter in the first line of the command `{command}` was not found")
        }
        std::io::ErrorKind::NotFound if is_path => format!("the command `{command}` was not found at its path"),
        std::io::ErrorKind::NotFound => format!("the command `{command}` was not found"),
        std::io::ErrorKind::PermissionDenied => format!("the command `{command}` is not executable"),
        _ => format!("the command `{command}` cannot be started: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_for_clients_contains_no_paths() {
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        let text = |command, folder| cannot_start("fake", command, folder, &error);
        assert_eq!(text("/home/me/bin/tool", None), "the command `tool` was not found at its path");
        assert_eq!(text("tool", None), "the command `tool` was not found");
        let told = text(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), None);
        assert_eq!(told, "the interpreter in the first line of the command `Cargo.toml` was not found");
        assert_eq!(text("tool", Some(Path::new("/no/such/folder"))), "the directory `cwd` does not exist");
    }
}
