//! Records as files that only the user can read.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, FlockOperation, access, flock};
use tokio::time::Instant;

use super::{RecordKey, RecordLock};
use crate::oauth::LogInError;
use proxy_base::process::atomic_file;

/// How long another process may hold a lock: longer than a renewal takes.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const LOCK_INTERVAL: Duration = Duration::from_millis(20);
/// A record has a few kilobytes.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Clone, Debug)]
pub(crate) struct RecordFiles {
    folder: PathBuf,
}

impl RecordFiles {
    pub(crate) fn new(folder: PathBuf) -> Self {
        RecordFiles { folder }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn path(&self, key: &RecordKey) -> PathBuf {
        self.folder.join(format!("{}.json", key.0))
    }

    pub(crate) fn read(&self, key: &RecordKey) -> Result<Option<Vec<u8>>, LogInError> {
        let path = self.path(key);
        let file = match File::open(&path) {
            Ok(file) => file,
            // Whether the folder can be made is checked when something is to be kept.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(problem("read", &path, &error)),
        };
        let data = file.metadata().map_err(|error| problem("read", &path, &error))?;
        if data.mode() & 0o077 != 0 {
            return Err(LogInError::Storage(format!(
                "other users can access the authorization in `{path}`: run `chmod 600 {path}`",
                path = path.display()
            )));
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|error| problem("read", &path, &error))?;
        Ok(Some(bytes))
    }

    /// All records that can be read.
    pub(crate) fn all(&self) -> Vec<Vec<u8>> {
        self.paths().filter_map(|path| std::fs::read(path).ok()).collect()
    }

    /// All records that are the user's alone, with their names.
    pub(crate) fn named(&self) -> Vec<(RecordKey, Vec<u8>)> {
        let keys = self.paths().filter_map(|path| Some(RecordKey(path.file_stem()?.to_str()?.to_owned())));
        keys.filter_map(|key| self.read(&key).ok().flatten().map(|bytes| (key, bytes))).collect()
    }

    fn paths(&self) -> impl Iterator<Item = PathBuf> + use<> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "json"))
    }

    pub(crate) fn write(&self, key: &RecordKey, bytes: &[u8]) -> Result<(), LogInError> {
        let path = self.path(key);
        self.make_folder()
            .and_then(|()| atomic_file::replace_durably(&path, bytes))
            .map_err(|error| problem("write", &path, &error))
    }

    pub(crate) fn delete(&self, key: &RecordKey) -> Result<(), LogInError> {
        let path = self.path(key);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(problem("delete", &path, &error)),
            _ => Ok(()),
        }
    }

    /// Waits for the lock of a record. The lock file stays: whoever deleted it could not know who waits for it.
    pub(crate) async fn lock(&self, key: &RecordKey) -> Result<RecordLock, LogInError> {
        let path = self.folder.join(format!("{}.lock", key.0));
        let opened = self
            .make_folder()
            .and_then(|()| OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path));
        let file = match opened.or_else(|error| File::open(&path).map_err(|_| error)) {
            Ok(file) => file,
            Err(error) => {
                // Without a writable folder nothing can be saved either, which is said there.
                tracing::debug!(%error, "an authorization is used without its lock");
                return Ok(RecordLock::Unlocked);
            }
        };
        let give_up = Instant::now() + LOCK_TIMEOUT;
        // Polled instead of blocking a thread for as long as another process likes.
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() > give_up {
                let seconds = LOCK_TIMEOUT.as_secs();
                let text = format!("another process has held `{}` for {seconds} s", path.display());
                return Err(LogInError::Storage(text));
            }
            tokio::time::sleep(LOCK_INTERVAL).await;
        }
        Ok(RecordLock::File { _locked: file })
    }

    /// Checks that files can be written.
    pub(crate) fn check(&self) -> Result<(), LogInError> {
        let writable = || access(&self.folder, Access::WRITE_OK | Access::EXEC_OK).map_err(io::Error::from);
        self.make_folder().and_then(|()| writable()).map_err(|error| {
            LogInError::Storage(format!(
                "authorizations cannot be kept in `{}`: {error}: make it writable, or set `XDG_STATE_HOME` to another folder",
                self.folder.display()
            ))
        })
    }

    fn make_folder(&self) -> io::Result<()> {
        if let Ok(data) = std::fs::metadata(&self.folder) {
            if !data.is_dir() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            if data.mode() & 0o077 != 0 {
                std::fs::set_permissions(&self.folder, Permissions::from_mode(0o700))?;
            }
            return Ok(());
        }
        if let Some(parent) = self.folder.parent() {
            std::fs::create_dir_all(parent)?;
        }
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }
}

fn problem(verb: &str, path: &Path, error: &io::Error) -> LogInError {
    LogInError::Storage(format!("cannot {verb} the authorization in `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::storage::{CredentialStorage, FORM, LogInRecord, record};
    use crate::oauth::tests::fake::StateFolder;

    fn key() -> RecordKey {
        RecordKey::new("h", "https://h/mcp", None, None)
    }

    async fn save(storage: &CredentialStorage, record: &LogInRecord) {
        let lock = storage.lock(&key()).await.unwrap();
        storage.write(&lock, &key(), record).await.unwrap();
    }

    #[tokio::test]
    async fn a_record_is_for_the_user_alone() {
        let folder = StateFolder::new();
        let storage = CredentialStorage::files(folder.0.join("credentials"));
        assert_eq!(storage.read(&key()).await, Ok(None));
        save(&storage, &record()).await;
        assert_eq!(storage.read(&key()).await, Ok(Some(record())));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(storage.folder().unwrap()), 0o700);
        let path = RecordFiles::new(storage.folder().unwrap().to_owned()).path(&key());
        assert_eq!(mode(&path), 0o600);
        let names: Vec<_> = std::fs::read_dir(storage.folder().unwrap()).unwrap().flatten().collect();
        assert_eq!(names.len(), 2, "the record and its lock: {names:?}");

        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let error = storage.read(&key()).await.unwrap_err().to_string();
        assert!(error.contains(&format!("run `chmod 600 {}`", path.display())), "{error}");
        let lock = storage.lock(&key()).await.unwrap();
        storage.delete(&lock, &key()).await.unwrap();
        assert_eq!(storage.read(&key()).await, Ok(None));
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named_before_somebody_logs_in() {
        let folder = StateFolder::new();
        std::fs::create_dir(&folder.0).unwrap();
        std::fs::write(folder.0.join("file"), "").unwrap();
        let below_a_file = folder.0.join("file/credentials");
        let error = CredentialStorage::files(below_a_file.clone()).check(&key()).unwrap_err().to_string();
        assert!(error.contains(below_a_file.to_str().unwrap()) && error.contains("`XDG_STATE_HOME`"), "{error}");
        let read_only = folder.0.join("credentials");
        DirBuilder::new().mode(0o500).create(&read_only).unwrap();
        let error = CredentialStorage::files(read_only.clone()).check(&key()).map_err(|error| error.to_string());
        // Root may write everywhere.
        if !rustix::process::geteuid().is_root() {
            assert!(error.as_ref().is_err_and(|error| error.contains(read_only.to_str().unwrap())), "{error:?}");
        }
    }

    #[tokio::test]
    async fn one_holds_the_lock_at_a_time() {
        let folder = StateFolder::new();
        let storage = CredentialStorage::files(folder.0.clone());
        let held = storage.lock(&key()).await.unwrap();
        let waiting = tokio::spawn({
            let storage = storage.clone();
            async move { storage.lock(&key()).await.is_ok() }
        });
        let other = storage.lock(&RecordKey::new("h", "https://other/", None, None)).await.unwrap();
        assert!(matches!(other, RecordLock::File { .. }), "another record is not locked");
        assert!(!waiting.is_finished());
        drop(held);
        assert!(waiting.await.unwrap());
    }

    #[tokio::test]
    async fn a_broken_or_newer_record_is_named_and_its_content_is_not() {
        let folder = StateFolder::new();
        let storage = CredentialStorage::files(folder.0.clone());
        save(&storage, &record()).await;
        let path = RecordFiles::new(folder.0.clone()).path(&key());
        std::fs::write(&path, "s3cret").unwrap();
        let error = storage.read(&key()).await.unwrap_err().to_string();
        assert!(error.contains("delete it") && !error.contains("s3cret"), "{error}");
        save(&storage, &LogInRecord { form: FORM + 1, ..record() }).await;
        assert!(storage.read(&key()).await.unwrap_err().to_string().contains("newer version"));
    }
}
