//! Files for the user's eyes only, replaced in one step: another process may read them at any time.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file as a whole, and makes its folder if there is none.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Two savings may run at the same time, here or in another process; each has a file of its own.
    static SAVINGS: AtomicU64 = AtomicU64::new(0);
    let number = SAVINGS.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    std::fs::rename(temporary, path)
}
