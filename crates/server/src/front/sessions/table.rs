//! The sessions that this process serves now, by id.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard};

use super::share::{group, share_of};
use crate::front::session::Session;
use proxy_model::{Owner, Principal, SessionDigest};

/// The table of sessions, with limits on their number and their idle time.
#[derive(Debug)]
pub(super) struct SessionTable {
    table: Mutex<Table>,
    limit: usize,
    idle_timeout: Duration,
}

#[derive(Debug, Default)]
struct Table {
    /// Under ids of our own, so that nobody can choose them for their hashes.
    sessions: HashMap<String, Arc<Session>, RandomState>,
    /// The ids by what the public may know of them.
    digests: HashMap<SessionDigest, String>,
    /// The number of sessions of each person, and of all anonymous clients together.
    counts: HashMap<Owner, usize>,
}

impl Table {
    fn insert(&mut self, session: Arc<Session>) {
        *self.counts.entry(group_of(&session)).or_default() += 1;
        self.digests.insert(session.id.sid.digest(), session.id.text.clone());
        self.sessions.insert(session.id.text.clone(), session);
    }

    fn remove(&mut self, id: &str) -> Option<Arc<Session>> {
        let session = self.sessions.remove(id)?;
        self.count_removed(&session);
        Some(session)
    }

    fn count_removed(&mut self, session: &Session) {
        self.digests.remove(&session.id.sid.digest());
        let group = group_of(session);
        if let Some(count) = self.counts.get_mut(&group) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&group);
            }
        }
    }

    /// The id of the group's session that has not been used for longest, of those that are not in use now.
    fn least_used(&self, of: &Owner) -> Option<String> {
        let members = self.sessions.iter().filter(|(_, session)| group_of(session) == *of);
        let idle = members.filter(|(_, session)| session.is_idle(Duration::ZERO));
        idle.min_by_key(|(_, session)| session.last_used()).map(|(id, _)| id.clone())
    }
}

fn group_of(session: &Session) -> Owner {
    group(&session.client().principal)
}

/// A session that is in the table now.
#[derive(Debug)]
pub(crate) struct AddedSession {
    /// The session that was added, or the one with its id that another request had added before.
    pub(crate) session: Arc<Session>,
    pub(crate) is_new: bool,
    /// A session that had to make room, removed from the table. The caller must forget it.
    pub(crate) removed: Option<Arc<Session>>,
}

impl SessionTable {
    pub(super) fn new(limit: usize, idle_timeout: Duration) -> Self {
        SessionTable { table: Mutex::default(), limit, idle_timeout }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }

    /// Adds a session. If its group or the table is full, the least used idle session of the
    /// group makes room. Returns `None` if it has none.
    pub(super) fn add(&self, session: Arc<Session>) -> Option<AddedSession> {
        let group = group_of(&session);
        let mut table = self.lock();
        if let Some(known) = table.sessions.get(&session.id.text) {
            return Some(AddedSession { session: Arc::clone(known), is_new: false, removed: None });
        }
        let of_group = table.counts.get(&group).copied().unwrap_or_default();
        let is_full = table.sessions.len() >= self.limit || of_group >= share_of(self.limit, &group);
        let removed = if is_full {
            let least_used = table.least_used(&group)?;
            table.remove(&least_used)
        } else {
            None
        };
        table.insert(Arc::clone(&session));
        Some(AddedSession { session, is_new: true, removed })
    }

    /// The session with this id. The session of another user is treated as unknown.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let session = self.lock().sessions.get(id).cloned()?;
        (session.client().principal.who == principal.who).then_some(session)
    }

    /// The session with this digest.
    pub(super) fn by_digest(&self, digest: SessionDigest) -> Option<Arc<Session>> {
        let table = self.lock();
        table.sessions.get(table.digests.get(&digest)?).cloned()
    }

    pub(super) fn count(&self) -> usize {
        self.lock().sessions.len()
    }

    /// Removes a session from the table. The caller must end or forget it.
    pub(super) fn remove(&self, id: &str) -> Option<Arc<Session>> {
        self.lock().remove(id)
    }

    /// Removes all sessions that match. The caller must end or forget them.
    pub(super) fn remove_where(&self, matches: impl Fn(&Session) -> bool) -> Vec<Arc<Session>> {
        let mut table = self.lock();
        let removed: Vec<_> =
            table.sessions.extract_if(|_, session| matches(session)).map(|(_, session)| session).collect();
        removed.iter().for_each(|session| table.count_removed(session));
        removed
    }

    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        self.lock().sessions.values().cloned().collect()
    }

    /// Removes the idle sessions. The caller must forget them.
    pub(super) fn remove_idle(&self) -> Vec<Arc<Session>> {
        self.remove_where(|session| session.is_idle(self.idle_timeout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::session_id::SessionId;
    use crate::methods::initialize::Handshake;
    use proxy_model::{Home, Sid};

    #[test]
    fn only_idle_sessions_are_removed() {
        let anonymous = Principal::anonymous();
        for (idle, swept) in [(Duration::from_secs(60), 0), (Duration::ZERO, 1)] {
            let sessions = SessionTable::new(10, idle);
            let id = add(&sessions, of(&anonymous));
            assert_eq!(sessions.remove_idle().len(), swept);
            assert_eq!(sessions.find(&id, &anonymous).is_none(), swept == 1);
        }
        let sessions = SessionTable::new(10, Duration::ZERO);
        let used = of(&anonymous);
        let _running = used.in_flight.begin(&proxy_wire::Id::parse("1").unwrap()).unwrap();
        sessions.add(used).unwrap();
        assert!(sessions.remove_idle().is_empty(), "a running call is use");
    }

    fn of(principal: &Principal) -> Arc<Session> {
        let sid = Sid::of_connection();
        let id = SessionId { text: sid.to_string(), home: Home::of_this_process(), sid, born: 0, is_complete: true };
        with_id(id, principal)
    }

    fn with_id(id: SessionId, principal: &Principal) -> Arc<Session> {
        let client = Handshake::default().client(principal.clone());
        Arc::new(Session::new(id, client, &Arc::default()))
    }

    fn add(sessions: &SessionTable, session: Arc<Session>) -> String {
        let id = session.id.text.clone();
        sessions.add(session).unwrap();
        id
    }

    #[test]
    fn a_session_that_two_requests_revive_is_one() {
        let sessions = SessionTable::new(10, Duration::ZERO);
        let first = of(&Principal::anonymous());
        let second = with_id(first.id.clone(), &Principal::anonymous());
        assert!(sessions.add(Arc::clone(&first)).unwrap().is_new);
        let added = sessions.add(second).unwrap();
        assert!(!added.is_new && Arc::ptr_eq(&added.session, &first));
        assert_eq!(sessions.all().len(), 1);
    }

    /// How many of so many new sessions displaced one of their own group.
    fn displaced(sessions: &SessionTable, principal: &Principal, count: usize) -> usize {
        let removed = (0..count).filter_map(|_| sessions.add(of(principal)).unwrap().removed);
        removed.inspect(|session| assert_eq!(session.client().principal, *principal)).count()
    }

    #[test]
    fn nobody_can_take_the_sessions_of_others() {
        let sessions = SessionTable::new(2000, Duration::from_secs(60));
        let (ann, bob) = (Principal::named("ann"), Principal::named("bob"));
        assert_eq!(displaced(&sessions, &Principal::anonymous(), 1500), 500, "half for all anonymous clients");
        assert_eq!(displaced(&sessions, &ann, 250), 50, "a tenth for a person");
        assert_eq!(displaced(&sessions, &bob, 10), 0);
        let few = SessionTable::new(300, Duration::from_secs(60));
        assert_eq!(displaced(&few, &ann, 120), 20, "at least a hundred");
        let removed = sessions.remove_where(|session| session.client().principal == ann);
        assert_eq!(removed.len(), 200);
        assert_eq!(displaced(&sessions, &ann, 200), 0, "what has ended does not count");
    }

    #[test]
    fn the_least_used_idle_session_makes_room() {
        let sessions = SessionTable::new(6, Duration::from_secs(60));
        let anonymous = Principal::anonymous();
        let busy = of(&anonymous);
        let _running = busy.in_flight.begin(&proxy_wire::Id::parse("1").unwrap()).unwrap();
        let ids: Vec<String> = [busy, of(&anonymous), of(&anonymous)].map(|session| add(&sessions, session)).into();
        sessions.find(&ids[1], &anonymous).unwrap().touch();
        sessions.add(of(&anonymous)).unwrap();
        let left = ids.iter().map(|id| sessions.find(id, &anonymous).is_some());
        assert_eq!(left.collect::<Vec<_>>(), [true, true, false]);
        let all_busy = SessionTable::new(2, Duration::from_secs(60));
        let busy = of(&anonymous);
        let _running = busy.in_flight.begin(&proxy_wire::Id::parse("1").unwrap()).unwrap();
        all_busy.add(busy).unwrap();
        assert!(all_busy.add(of(&anonymous)).is_none());
    }
}
