//! The file of an audit log: opened for appending, locked against other processes, rotated.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How many processes may write logs beside each other.
const MAX_BESIDE: usize = 1000;

/// How much is read at once to find the last line.
const CHUNK: u64 = 64 << 10;

/// An open log that no other process writes.
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    /// The length up to which the file is known to be good.
    size: u64,
    /// Device and inode.
    identity: (u64, u64),
}

/// The end of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileTail {
    /// The last whole line, without its line feed.
    pub(super) line: Option<Vec<u8>>,
    /// What follows it: a line that was cut off.
    pub(super) torn: Vec<u8>,
}

impl LogFile {
    /// Opens the file, or one beside it if other processes write it.
    pub(super) fn open(wanted: &Path) -> io::Result<Self> {
        if let Some(folder) = wanted.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        for number in 0..MAX_BESIDE {
            let path = if number == 0 { wanted.to_owned() } else { beside(wanted, &format!(".{number}")) };
            if let Some(file) = Self::locked(path)? {
                return Ok(file);
            }
        }
        Err(io::Error::other("too many other processes are writing it"))
    }

    /// Opens and locks one file; `None` if another process has it.
    fn locked(path: PathBuf) -> io::Result<Option<Self>> {
        loop {
            let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path)?;
            let metadata = file.metadata()?;
            if !metadata.is_file() {
                return Err(io::Error::other("it is not a regular file"));
            }
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            let identity = (metadata.dev(), metadata.ino());
            let log = LogFile { path: path.clone(), file, size: metadata.len(), identity };
            // Whoever had the lock before may have moved the file away.
            if !log.is_replaced() {
                return Ok(Some(log));
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Whether another file, or none, has the path now, or the file is not as it was written.
    pub(super) fn is_replaced(&self) -> bool {
        let same = |now: fs::Metadata| (now.dev(), now.ino()) == self.identity;
        !(fs::metadata(&self.path).is_ok_and(same) && self.is_intact())
    }

    /// Whether the file has what was written to it, and no more.
    pub(super) fn is_intact(&self) -> bool {
        self.file.metadata().is_ok_and(|now| now.len() == self.size)
    }

    /// Appends text. If that fails, the file is as before.
    pub(super) fn append(&mut self, text: &str) -> io::Result<()> {
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            // What has been written of it would be a torn line.
            self.file.set_len(self.size)?;
            return Err(error);
        }
        self.size += text.len() as u64;
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    pub(super) fn tail(&mut self) -> io::Result<FileTail> {
        let mut start = self.size;
        let mut end = Vec::new();
        // Two line feeds are needed: behind the last whole line, and before it.
        while start > 0 && end.iter().filter(|byte| **byte == b'\n').count() < 2 {
            start = self.size.saturating_sub(CHUNK.max(2 * end.len() as u64));
            end.clear();
            self.file.seek(SeekFrom::Start(start))?;
            self.file.read_to_end(&mut end)?;
        }
        let mut parts = end.rsplitn(3, |byte| *byte == b'\n');
        let torn = parts.next().unwrap_or_default().to_vec();
        Ok(FileTail { line: parts.next().map(<[u8]>::to_vec), torn })
    }

    /// Moves the file away under a name with this stamp, and removes the oldest of those that were moved away before. The
    /// lock is held until this is dropped.
    pub(super) fn move_away(&self, stamp: &str, keep: usize) -> io::Result<()> {
        fs::rename(&self.path, beside(&self.path, &format!("-{stamp}")))?;
        let mut moved = moved_away(&self.path)?;
        moved.sort();
        let surplus = moved.len().saturating_sub(keep);
        for old in &moved[..surplus] {
            fs::remove_file(old)?;
        }
        Ok(())
    }
}

/// The path with an addition before the extension: `audit.jsonl` and `audit.1.jsonl`.
fn beside(path: &Path, addition: &str) -> PathBuf {
    let mut name = path.file_stem().map(OsString::from).unwrap_or_default();
    name.push(addition);
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// The files that were moved away from this path.
fn moved_away(path: &Path) -> io::Result<Vec<PathBuf>> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    // A date, so that no other file of the folder is taken for one.
    let is_stamp = |stamp: &str| {
        stamp.starts_with("20") && stamp.chars().all(|letter| letter.is_ascii_digit() || "TZ-".contains(letter))
    };
    let is_moved = |other: &PathBuf| {
        let stamp = other.file_stem().and_then(|other| other.to_str()?.strip_prefix(stem)?.strip_prefix('-'));
        other.extension() == path.extension() && stamp.is_some_and(is_stamp)
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(is_moved).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beside_a_file_keep_its_extension() {
        assert_eq!(beside(Path::new("/x/audit.jsonl"), ".1"), Path::new("/x/audit.1.jsonl"));
        assert_eq!(beside(Path::new("/x/audit"), "-2"), Path::new("/x/audit-2"));
    }

    #[test]
    fn the_tail_is_the_last_whole_line_and_what_was_cut_off() {
        let folder = std::env::temp_dir().join(format!("tail-of-audit-{}", std::process::id()));
        let long = "x".repeat(100_000);
        for (number, (text, line, torn)) in [
            ("", None, ""),
            ("abc", None, "abc"),
            ("one\n", Some("one"), ""),
            ("one\ntwo\nthr", Some("two"), "thr"),
            (&format!("one\n{long}\n{long}"), Some(long.as_str()), long.as_str()),
        ]
        .into_iter()
        .enumerate()
        {
            let mut log = LogFile::open(&folder.join(format!("{number}.jsonl"))).unwrap();
            log.append(text).unwrap();
            let expected = FileTail { line: line.map(|line| line.as_bytes().to_vec()), torn: torn.as_bytes().to_vec() };
            assert_eq!(log.tail().unwrap(), expected);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
