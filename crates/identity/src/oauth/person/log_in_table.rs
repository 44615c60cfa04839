//! The log-ins that this process knows: one for each record.

use std::sync::Arc;

use super::follower::Follower;
use super::person_log_in::{PersonLogIn, PersonLogIns};
use crate::oauth::storage::{CredentialStorage, RecordKey};
use crate::oauth::subject::Subject;
use proxy_wire::http::Fetcher;

/// From this many log-ins on, those that nobody uses are forgotten. They are read again when they are needed.
const MAX_UNUSED: usize = 256;

/// All log-ins of this process, with where they are kept. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct LogInTable {
    pub(crate) storage: CredentialStorage,
    pub(crate) fetcher: Arc<Fetcher>,
    pub(crate) persons: PersonLogIns,
    pub(crate) follower: Arc<Follower>,
}

impl LogInTable {
    pub(crate) fn new(storage: CredentialStorage) -> Self {
        let persons = PersonLogIns::default();
        let follower = Follower::new(&storage, &persons);
        LogInTable { storage, fetcher: Arc::default(), persons, follower }
    }

    /// The log-in of a subject.
    pub(crate) fn of(&self, subject: &Subject) -> Arc<PersonLogIn> {
        let log_in = self.at(&subject.key, subject.config.issuer.as_deref());
        if subject.who.is_some() {
            log_in.entry.get_or_init(|| subject.entry_key());
        }
        log_in
    }

    /// The client with which the people of an entry log in; `None` if the log-in itself has its client.
    pub(crate) fn entry_of(&self, subject: &Subject) -> Option<Arc<PersonLogIn>> {
        subject.who.as_ref().map(|_| self.at(&subject.entry_key(), subject.config.issuer.as_deref()))
    }

    /// The log-in with this record. `issuer` is the authorization server that the config names.
    pub(crate) fn at(&self, key: &RecordKey, issuer: Option<&str>) -> Arc<PersonLogIn> {
        let mut persons = self.persons.lock();
        if let Some(known) = persons.get(key) {
            return Arc::clone(known);
        }
        if persons.len() >= MAX_UNUSED {
            persons.retain(|_, known| Arc::strong_count(known) > 1);
        }
        let issuer = issuer.map(str::to_owned);
        let new = PersonLogIn::new(key.clone(), issuer, self.storage.clone(), Arc::clone(&self.fetcher));
        let new = Arc::new(new);
        persons.insert(key.clone(), Arc::clone(&new));
        new
    }
}
