//! Folders with programs, for tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An empty folder with this name.
pub(super) fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("proxy-program-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Makes a shell script with the folder that it is in. Another process writes it: as long as a file is open for writing, also in
/// a child that another test is just starting, it cannot be executed.
pub(super) fn program(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let script = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
    let written = Command::new("sh").args(["-c", script]).arg(file).arg(text).status().unwrap();
    assert!(written.success());
}
