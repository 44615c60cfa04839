//! Atomic replacement of files that only the user may read: other processes see the old or the new content, never a
//! part.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes to a temporary file with mode 0600 and renames it to `path`. Creates the folder if needed.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Concurrent writers, in this process or another, need temporary files of their own.
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let number = WRITES.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
    open(&temporary)?.write_all(bytes)?;
    std::fs::rename(temporary, path)
}

/// Like [`replace`], in a folder that exists, and the new content survives a crash of the machine. For files whose writers
/// hold a lock: what a killed one has left behind is written over by the next.
pub fn replace_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let written = open(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        // Before the rename: else a crash could leave an empty file under the final name.
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| std::fs::rename(&temporary, path)) {
        let _ = std::fs::remove_file(&temporary);
        return Err(error);
    }
    // The rename itself is on disk when the folder is.
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn open(temporary: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(temporary)
}
