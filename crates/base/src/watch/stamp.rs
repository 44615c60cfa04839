//! What distinguishes two versions of a file, without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Size, time of the last change, and inode; nothing of them if there is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileStamp(Option<(u64, i64, i64, u64)>);

impl FileStamp {
    /// The stamp of the file that is now at a path.
    pub fn of(path: &Path) -> Self {
        std::fs::metadata(path).map_or(FileStamp(None), |metadata| FileStamp::from(&metadata))
    }
}

impl From<&Metadata> for FileStamp {
    fn from(metadata: &Metadata) -> Self {
        FileStamp(Some((metadata.len(), metadata.mtime(), metadata.mtime_nsec(), metadata.ino())))
    }
}

/// The stamps of the files that are now at these paths. A file system that does not answer holds up nobody but the caller.
pub async fn stamps(paths: Vec<PathBuf>) -> Vec<(PathBuf, FileStamp)> {
    let stamped = |path: PathBuf| {
        let stamp = FileStamp::of(&path);
        (path, stamp)
    };
    tokio::task::spawn_blocking(move || paths.into_iter().map(stamped).collect()).await.unwrap_or_default()
}

/// A file, and the version of it that was read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StampedFile {
    pub path: PathBuf,
    pub stamp: FileStamp,
}
