//! The records of log-ins, and where they are kept.

mod files;
mod record;
mod sealed;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::LogInError;
use files::RecordFiles;
use proxy_config::{Config, StoreAddress};
use proxy_model::{Realm, Who};
use record::FORM;
#[cfg(test)]
pub(super) use record::tests::record;
pub(super) use record::{LogInRecord, Tokens};
#[cfg(test)]
pub(super) use sealed::LOCK_TTL;
use sealed::SealedRecords;

/// Files that only the user can read, or sealed records in the Redis that several proxies share. The log-ins of a machine's
/// user are always files.
#[derive(Clone, Debug)]
pub struct CredentialStorage {
    place: StoragePlace,
    /// Where the log-ins of this machine's user are kept: other machines have local users of their own.
    local: StoragePlace,
}

#[derive(Clone, Debug)]
enum StoragePlace {
    Files(RecordFiles),
    Sealed(SealedRecords),
    /// Nowhere, and why.
    Nowhere(String),
}

/// Held while a record is read, renewed and written, by one task of one process.
#[derive(Debug)]
pub(crate) enum RecordLock {
    /// None could be made, such as in a folder that is read-only.
    Unlocked,
    File {
        _locked: std::fs::File,
    },
    Store {
        _held: sealed::HeldLock,
    },
}

/// What the names of records of local users begin with.
const LOCAL_PREFIX: &str = "local-";

/// The name of a record. One for each entry of the config, its URL and issuer, and each person: two entries of one URL are
/// two accounts. Without a person it is everybody's account, or the client with which the people of the entry log in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct RecordKey(String);

impl RecordKey {
    pub(crate) fn new(entry: &str, url: &str, issuer: Option<&str>, who: Option<&Who>) -> Self {
        let (realm, sub) = who.map_or(("", ""), |who| (realm_name(&who.realm), &*who.sub));
        let digest = Sha256::digest([entry, url, issuer.unwrap_or_default(), realm, sub].join("\0"));
        let name = proxy_json::hex(&digest);
        match who.map(|who| &who.realm) {
            Some(Realm::Local) => RecordKey(format!("{LOCAL_PREFIX}{name}")),
            _ => RecordKey(name),
        }
    }

    /// Whether it belongs to the user of this machine.
    fn is_local(&self) -> bool {
        self.0.starts_with(LOCAL_PREFIX)
    }
}

/// A realm in keys and records. An issuer is a URL, so it is none of these words.
pub(crate) fn realm_name(realm: &Realm) -> &str {
    match realm {
        Realm::Anonymous => "anonymous",
        Realm::Local => "local",
        Realm::Static => "static",
        Realm::Issuer(issuer) => issuer,
    }
}

impl CredentialStorage {
    /// The storage that the config asks for. Nothing is opened yet: what is wrong is said when it is used.
    /// `state_folder` is `$XDG_STATE_HOME/starlark-mcp-proxy`.
    pub fn for_config(config: &Config, state_folder: Option<&Path>) -> Self {
        let local = match state_folder {
            Some(folder) => StoragePlace::Files(RecordFiles::new(folder.join("credentials"))),
            None => StoragePlace::Nowhere(
                "authorizations cannot be kept: neither `XDG_STATE_HOME` nor `HOME` is set".to_owned(),
            ),
        };
        let place = match &config.store {
            StoreAddress::Redis(address) => match SealedRecords::open(address, &config.serve.state_keys) {
                Ok(sealed) => StoragePlace::Sealed(sealed),
                Err(problem) => StoragePlace::Nowhere(problem),
            },
            StoreAddress::Memory => local.clone(),
        };
        CredentialStorage { place, local }
    }

    /// Files in this folder.
    pub fn files(folder: PathBuf) -> Self {
        let place = StoragePlace::Files(RecordFiles::new(folder));
        CredentialStorage { local: place.clone(), place }
    }

    fn place_of(&self, key: &RecordKey) -> &StoragePlace {
        if key.is_local() { &self.local } else { &self.place }
    }

    /// Says why nothing can be kept, before somebody logs in for nothing.
    pub(crate) fn check(&self, key: &RecordKey) -> Result<(), LogInError> {
        match self.place_of(key) {
            StoragePlace::Nowhere(problem) => Err(LogInError::Storage(problem.clone())),
            StoragePlace::Files(files) => files.check(),
            StoragePlace::Sealed(_) => Ok(()),
        }
    }

    /// The folder to watch; `None` if there are no files.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.place {
            StoragePlace::Files(files) => Some(files.folder()),
            _ => None,
        }
    }

    /// Whether others can change records without a file that could be watched.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.place, StoragePlace::Sealed(_))
    }

    /// How many log-ins an earlier version has left in the folder, by URL alone. They are not used: nobody knows whose entry
    /// they belong to.
    pub fn earlier_records(&self) -> usize {
        let StoragePlace::Files(files) = &self.place else { return 0 };
        files.all().iter().filter(|bytes| form(bytes) == Some(1)).count()
    }

    pub(crate) async fn read(&self, key: &RecordKey) -> Result<Option<LogInRecord>, LogInError> {
        let place = self.place_of(key);
        let bytes = match place {
            StoragePlace::Files(files) => blocking(files, key, RecordFiles::read).await?,
            StoragePlace::Sealed(sealed) => sealed.read(key).await?,
            StoragePlace::Nowhere(_) => None,
        };
        let Some(bytes) = bytes else { return Ok(None) };
        parse(&bytes).map(Some).map_err(|problem| match place {
            StoragePlace::Files(files) => LogInError::Storage(format!("`{}` {problem}", files.path(key).display())),
            _ => LogInError::Storage(format!("an authorization record {problem}")),
        })
    }

    /// All records that can be read, with their names.
    pub(crate) async fn all(&self) -> Result<Vec<(RecordKey, LogInRecord)>, LogInError> {
        let found = match (&self.place, &self.local) {
            (StoragePlace::Files(files), _) => named(files).await?,
            (StoragePlace::Sealed(sealed), StoragePlace::Files(files)) => {
                let local = named(files).await?.into_iter().filter(|(key, _)| key.is_local());
                sealed.all().await?.into_iter().chain(local).collect()
            }
            (StoragePlace::Sealed(sealed), _) => sealed.all().await?,
            (StoragePlace::Nowhere(problem), _) => return Err(LogInError::Storage(problem.clone())),
        };
        Ok(found.into_iter().filter_map(|(key, bytes)| Some((key, parse(&bytes).ok()?))).collect())
    }

    /// Completes when no lock is still being given back: a process that ends before would keep it from others for a while.
    pub(crate) async fn unlocked(&self) {
        if let StoragePlace::Sealed(sealed) = &self.place {
            sealed.unlocked().await;
        }
    }

    /// Locks a record over all tasks and processes that share it.
    pub(crate) async fn lock(&self, key: &RecordKey) -> Result<RecordLock, LogInError> {
        match self.place_of(key) {
            StoragePlace::Files(files) => files.lock(key).await,
            StoragePlace::Sealed(sealed) => sealed.lock(key).await,
            StoragePlace::Nowhere(_) => Ok(RecordLock::Unlocked),
        }
    }

    /// Writes a record so that it survives a crash of the machine. The lock shows that nobody else does.
    pub(crate) async fn write(
        &self,
        _lock: &RecordLock,
        key: &RecordKey,
        record: &LogInRecord,
    ) -> Result<(), LogInError> {
        let bytes = serde_json::to_vec(record).map_err(|error| LogInError::Storage(error.to_string()))?;
        match self.place_of(key) {
            StoragePlace::Files(files) => {
                blocking(files, key, move |files: &RecordFiles, key: &RecordKey| files.write(key, &bytes)).await
            }
            StoragePlace::Sealed(sealed) => sealed.write(key, &bytes).await,
            StoragePlace::Nowhere(problem) => Err(LogInError::Storage(problem.clone())),
        }
    }

    pub(crate) async fn delete(&self, _lock: &RecordLock, key: &RecordKey) -> Result<(), LogInError> {
        match self.place_of(key) {
            StoragePlace::Files(files) => blocking(files, key, RecordFiles::delete).await,
            StoragePlace::Sealed(sealed) => sealed.delete(key).await,
            StoragePlace::Nowhere(_) => Ok(()),
        }
    }
}

/// All records in files, with their names.
async fn named(files: &RecordFiles) -> Result<Vec<(RecordKey, Vec<u8>)>, LogInError> {
    let files = files.clone();
    let all = tokio::task::spawn_blocking(move || files.named());
    all.await.map_err(|error| LogInError::Storage(error.to_string()))
}

/// Runs an operation on files, which may wait for the disk, where waiting is harmless.
async fn blocking<T: Send + 'static>(
    files: &RecordFiles,
    key: &RecordKey,
    operation: impl FnOnce(&RecordFiles, &RecordKey) -> Result<T, LogInError> + Send + 'static,
) -> Result<T, LogInError> {
    let (files, key) = (files.clone(), key.clone());
    let done = tokio::task::spawn_blocking(move || operation(&files, &key)).await;
    done.unwrap_or_else(|error| Err(LogInError::Storage(error.to_string())))
}

/// The error says nothing of the content.
fn form(bytes: &[u8]) -> Option<u32> {
    #[derive(serde::Deserialize)]
    struct Form {
        form: u32,
    }
    serde_json::from_slice::<Form>(bytes).ok().map(|found| found.form)
}

fn parse(bytes: &[u8]) -> Result<LogInRecord, &'static str> {
    if form(bytes).ok_or("is invalid: delete it")? > FORM {
        return Err("was written by a newer version of the proxy");
    }
    serde_json::from_slice(bytes).map_err(|_| "is invalid: delete it")
}
