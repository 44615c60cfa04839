//! The open HTTP sessions by id.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard};

use super::session::Session;
use proxy_model::{Owner, Principal};

/// The least number of sessions that a person may have.
const MIN_PER_PERSON: usize = 100;

/// The table of sessions, with limits on their number and their idle time.
#[derive(Debug)]
pub(super) struct Sessions {
    table: Mutex<Table>,
    limit: usize,
    idle_timeout: Duration,
}

#[derive(Debug, Default)]
struct Table {
    /// Under ids of our own, so that nobody can choose them for their hashes.
    sessions: HashMap<String, Arc<Session>, RandomState>,
    /// The number of sessions of each person, and of all anonymous clients together.
    counts: HashMap<Owner, usize>,
}

impl Table {
    fn insert(&mut self, id: String, session: Arc<Session>) {
        *self.counts.entry(group(&session)).or_default() += 1;
        self.sessions.insert(id, session);
    }

    fn remove(&mut self, id: &str) -> Option<Arc<Session>> {
        let session = self.sessions.remove(id)?;
        self.count_removed(&session);
        Some(session)
    }

    fn count_removed(&mut self, session: &Session) {
        let group = group(session);
        if let Some(count) = self.counts.get_mut(&group) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&group);
            }
        }
    }

    /// The id of the group's session that has not been used for longest, of those that are not in use now.
    fn least_used(&self, of: &Owner) -> Option<String> {
        let members = self.sessions.iter().filter(|(_, session)| group(session) == *of);
        let idle = members.filter(|(_, session)| session.is_idle(Duration::ZERO));
        idle.min_by_key(|(_, session)| session.last_used()).map(|(id, _)| id.clone())
    }
}

/// Who shares a number of sessions: a person, or all anonymous clients, which cannot be told apart.
fn group(session: &Session) -> Owner {
    Owner::of_handles(&session.client().principal)
}

/// A session that was added.
#[derive(Debug)]
pub(super) struct AddedSession {
    pub(super) id: String,
    /// A session that had to make room, removed from the table. The caller must end it.
    pub(super) removed: Option<Arc<Session>>,
}

impl Sessions {
    pub(crate) fn new(limit: usize, idle_timeout: Duration) -> Self {
        Sessions { table: Mutex::default(), limit, idle_timeout }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }

    /// How many sessions a group may have, so that no person or anonymous client takes all.
    fn limit_of(&self, group: &Owner) -> usize {
        let share = if *group == Owner::Everybody { self.limit / 2 } else { MIN_PER_PERSON.max(self.limit / 10) };
        share.clamp(1, self.limit.max(1))
    }

    /// Adds a session. If its group or the table is full, the least used idle session of the
    /// group makes room. Returns `None` if it has none.
    pub(crate) fn add(&self, session: Arc<Session>) -> Option<AddedSession> {
        let id = session.id.as_str().to_owned();
        let group = group(&session);
        let mut table = self.lock();
        let of_group = table.counts.get(&group).copied().unwrap_or_default();
        let is_full = table.sessions.len() >= self.limit || of_group >= self.limit_of(&group);
        let removed = if is_full {
            let least_used = table.least_used(&group)?;
            table.remove(&least_used)
        } else {
            None
        };
        table.insert(id.clone(), session);
        Some(AddedSession { id, removed })
    }

    /// The session with this id. The session of another user is treated as unknown.
    pub(crate) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let session = self.lock().sessions.get(id).cloned()?;
        if session.client().principal.who != principal.who {
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
        let mut table = self.lock();
        let removed: Vec<_> =
            table.sessions.extract_if(|_, session| matches(session)).map(|(_, session)| session).collect();
        removed.iter().for_each(|session| table.count_removed(session));
        removed
    }

    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        self.lock().sessions.values().cloned().collect()
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
    use crate::front::session_id::SessionId;
    use crate::methods::initialize::Handshake;

    #[test]
    fn only_idle_sessions_are_removed() {
        let client = || Handshake::default().client(Principal::anonymous());
        let session = || Arc::new(Session::new(SessionId::random().unwrap(), client(), &Arc::default()));
        for (idle, swept) in [(Duration::from_secs(60), 0), (Duration::ZERO, 1)] {
            let sessions = Sessions::new(10, idle);
            let id = sessions.add(session()).unwrap().id;
            assert_eq!(sessions.sweep().len(), swept);
            assert_eq!(sessions.find(&id, &Principal::anonymous()).is_none(), swept == 1);
        }
        let sessions = Sessions::new(10, Duration::ZERO);
        let used = session();
        let _running = used.in_flight.begin(&proxy_wire::Id::parse("1").unwrap()).unwrap();
        sessions.add(used).unwrap();
        assert!(sessions.sweep().is_empty(), "a running call is use");
    }

    fn of(principal: &Principal) -> Arc<Session> {
        let client = Handshake::default().client(principal.clone());
        Arc::new(Session::new(SessionId::random().unwrap(), client, &Arc::default()))
    }

    /// How many of so many new sessions displaced one of their own group.
    fn displaced(sessions: &Sessions, principal: &Principal, count: usize) -> usize {
        let removed = (0..count).filter_map(|_| sessions.add(of(principal)).unwrap().removed);
        removed.inspect(|session| assert_eq!(session.client().principal, *principal)).count()
    }

    #[test]
    fn nobody_can_take_the_sessions_of_others() {
        let sessions = Sessions::new(2000, Duration::from_secs(60));
        let (ann, bob) = (Principal::named("ann"), Principal::named("bob"));
        assert_eq!(displaced(&sessions, &Principal::anonymous(), 1500), 500, "half for all anonymous clients");
        assert_eq!(displaced(&sessions, &ann, 250), 50, "a tenth for a person");
        assert_eq!(displaced(&sessions, &bob, 10), 0);
        let few = Sessions::new(300, Duration::from_secs(60));
        assert_eq!(displaced(&few, &ann, 120), 20, "at least a hundred");
        let removed = sessions.remove_where(|session| session.client().principal == ann);
        assert_eq!(removed.len(), 200);
        assert_eq!(displaced(&sessions, &ann, 200), 0, "what has ended does not count");
    }

    #[test]
    fn the_least_used_idle_session_makes_room() {
        let sessions = Sessions::new(6, Duration::from_secs(60));
        let anonymous = Principal::anonymous();
        let busy = of(&anonymous);
        let _running = busy.in_flight.begin(&proxy_wire::Id::parse("1").unwrap()).unwrap();
        let ids: Vec<String> =
            [busy, of(&anonymous), of(&anonymous)].map(|session| sessions.add(session).unwrap().id).into();
        sessions.find(&ids[1], &anonymous).unwrap();
        sessions.add(of(&anonymous)).unwrap();
        let left = ids.iter().map(|id| sessions.find(id, &anonymous).is_some());
        assert_eq!(left.collect::<Vec<_>>(), [true, true, false]);
        let all_busy = Sessions::new(2, Duration::from_secs(60));
        let busy = of(&anonymous);
        let _running = busy.in_flight.begin(&proxy_wire::Id::parse("1").unwrap()).unwrap();
        all_busy.add(busy).unwrap();
        assert!(all_busy.add(of(&anonymous)).is_none());
    }
}
