//! The open HTTP sessions by id.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::session::Session;
use crate::model::Principal;

/// The table of sessions, with a limit on their number and their idle time.
#[derive(Debug)]
pub(super) struct Sessions {
    table: Mutex<HashMap<String, Arc<Session>>>,
    limit: usize,
    idle_timeout: Duration,
}

impl Sessions {
    pub(crate) fn new(limit: usize, idle_timeout: Duration) -> Self {
        Sessions { table: Mutex::default(), limit, idle_timeout }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.table.lock()
    }

    /// Adds a session under a new random id. Returns `None` if there are too many sessions.
    pub(crate) fn add(&self, session: Arc<Session>) -> Option<String> {
        let mut random = [0u8; 16];
        getrandom::fill(&mut random).ok()?;
        let id = crate::json::hex(&random);
        let mut table = self.lock();
        if table.len() >= self.limit {
            return None;
        }
        table.insert(id.clone(), session);
        Some(id)
    }

    /// The session with this id. The session of another principal is treated as unknown.
    pub(crate) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let session = self.lock().get(id).cloned()?;
        if session.client.principal != *principal {
            return None;
        }
        session.touch();
        Some(session)
    }

    /// Removes a session from the table. The caller must end it.
    pub(crate) fn remove(&self, id: &str) -> Option<Arc<Session>> {
        self.lock().remove(id)
    }

    /// Removes all sessions that match. The caller must end them.
    pub(super) fn remove_where(&self, matches: impl Fn(&Session) -> bool) -> Vec<Arc<Session>> {
        self.lock().extract_if(|_, session| matches(session)).map(|(_, session)| session).collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        self.lock().values().cloned().collect()
    }

    /// Removes the idle sessions, and the expired replay buffers of the others. The caller must end the removed
    /// sessions.
    pub(super) fn sweep(&self) -> Vec<Arc<Session>> {
        for session in self.all() {
            session.remove_expired_streams();
        }
        self.remove_where(|session| session.is_idle(self.idle_timeout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::methods::initialize::Handshake;

    #[test]
    fn only_idle_sessions_are_removed() {
        let client = || Handshake::default().client(Principal::anonymous());
        let session = || Arc::new(Session::new(client(), &Arc::default()));
        for (idle, swept) in [(Duration::from_secs(60), 0), (Duration::ZERO, 1)] {
            let sessions = Sessions::new(10, idle);
            let id = sessions.add(session()).unwrap();
            assert_eq!(sessions.sweep().len(), swept);
            assert_eq!(sessions.find(&id, &Principal::anonymous()).is_none(), swept == 1);
        }
        let sessions = Sessions::new(10, Duration::ZERO);
        let used = session();
        let _running = used.in_flight.begin(&crate::wire::Id::parse("1").unwrap()).unwrap();
        sessions.add(used).unwrap();
        assert!(sessions.sweep().is_empty(), "a running call is use");
    }
}
