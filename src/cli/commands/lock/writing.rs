//! Writes a file as a whole: nobody ever reads half of it.

use std::io::{self, Write};
use std::path::Path;

pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    // Beside the file, because only within one file system is a rename atomic.
    let new = path.with_added_extension(format!("{}.tmp", std::process::id()));
    let written = std::fs::File::create(&new).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| std::fs::rename(&new, path));
    if replaced.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    replaced
}
