//! The table of sessions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::session::Session;
use crate::model::Principal;

#[derive(Debug)]
pub(super) struct Sessions {
    table: Mutex<HashMap<String, Arc<Session>>>,
    limit: usize,
    idle: Duration,
}

impl Sessions {
    pub(super) fn new(limit: usize, idle: Duration) -> Self {
        Sessions { table: Mutex::default(), limit, idle }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a session in under a new id that cannot be guessed; none if there are too many.
    pub(super) fn add(&self, session: Arc<Session>) -> Option<String> {
        let mut random = [0u8; 16];
        getrandom::fill(&mut random).ok()?;
        let id: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut table = self.lock();
        if table.len() >= self.limit {
            return None;
        }
        table.insert(id.clone(), session);
        Some(id)
    }

    /// The session, if it is this principal's. Another one's is answered as if it did not exist.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let session = self.lock().get(id).cloned()?;
        if session.client.principal != *principal {
            return None;
        }
        session.touch();
        Some(session)
    }

    pub(super) fn remove(&self, id: &str) {
        if let Some(session) = self.lock().remove(id) {
            session.end();
        }
    }

    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        self.lock().values().cloned().collect()
    }

    /// Ends the sessions that nobody used for too long, and forgets what the others no longer need.
    pub(super) fn sweep(&self) {
        for session in self.all() {
            session.forget_delivered();
        }
        let old: Vec<String> =
            self.lock().iter().filter(|(_, session)| session.is_idle(self.idle)).map(|(id, _)| id.clone()).collect();
        for id in old {
            tracing::debug!("an idle session ended");
            self.remove(&id);
        }
    }
}
