//! Where tests that are skipped leave their names for `tests/summary.rs`.

use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};

/// The file of this run: Cargo starts both programs, so both have it as their parent.
pub(crate) fn file(folder: &str) -> PathBuf {
    Path::new(folder).join(format!("skipped-{}.txt", parent_id()))
}
