//! The sessions that this process serves now, by id.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard};

use super::share::{group, share_of};
use crate::front::session::Session;
use proxy_model::{Owner, Principal, SessionDigest};

/// Each request locks one shard, and nobody holds one for longer than it takes to walk through a few sessions.
const SHARDS: usize = 256;

type Shard = HashMap<String, Arc<Session>, RandomState>;

/// The table of sessions, with limits on their number and their idle time.
#[derive(Debug)]
pub(super) struct SessionTable {
    /// By id. The ids are our own, so nobody can choose them for their hashes.
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    register: Mutex<Register>,
    limit: usize,
    idle_timeout: Duration,
}

/// What is known of all sessions together. Changed only when sessions come and go, and locked before any shard.
#[derive(Debug, Default)]
struct Register {
    /// The ids by what the public may know of them.
    digests: HashMap<SessionDigest, String>,
    /// The number of sessions of each person, and of all anonymous clients together.
    counts: HashMap<Owner, usize>,
}

impl Register {
    fn add(&mut self, session: &Session) {
        *self.counts.entry(group_of(session)).or_default() += 1;
        self.digests.insert(session.id.sid.digest(), session.id.text.clone());
    }

    fn remove(&mut self, session: &Session) {
        self.digests.remove(&session.id.sid.digest());
        let group = group_of(session);
        if let Some(count) = self.counts.get_mut(&group) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&group);
            }
        }
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
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        SessionTable { shards, hasher: RandomState::default(), register: Mutex::default(), limit, idle_timeout }
    }

    fn shard(&self, id: &str) -> MutexGuard<'_, Shard> {
        let place = self.hasher.hash_one(id) as usize % SHARDS;
        self.shards[place].lock()
    }

    fn register(&self) -> MutexGuard<'_, Register> {
        self.register.lock()
    }

    /// Adds a session. If its group or the table is full, the least used idle session of the
    /// group makes room. Returns `None` if it has none.
    pub(super) fn add(&self, session: Arc<Session>) -> Option<AddedSession> {
        let group = group_of(&session);
        let mut register = self.register();
        if let Some(known) = self.shard(&session.id.text).get(&session.id.text) {
            return Some(AddedSession { session: Arc::clone(known), is_new: false, removed: None });
        }
        let of_group = register.counts.get(&group).copied().unwrap_or_default();
        let is_full = register.digests.len() >= self.limit || of_group >= share_of(self.limit, &group);
        let removed = if is_full {
            let least_used = self.least_used(&group)?;
            self.remove_from(&mut register, &least_used.id.text)
        } else {
            None
        };
        register.add(&session);
        self.shard(&session.id.text).insert(session.id.text.clone(), Arc::clone(&session));
        Some(AddedSession { session, is_new: true, removed })
    }

    /// The group's session that has not been used for longest, of those that are not in use now.
    fn least_used(&self, of: &Owner) -> Option<Arc<Session>> {
        let of_shard = |shard: &Mutex<Shard>| {
            let shard = shard.lock();
            let idle = shard.values().filter(|session| session.is_idle(Duration::ZERO) && group_of(session) == *of);
            idle.min_by_key(|session| session.last_used()).cloned()
        };
        self.shards.iter().filter_map(of_shard).min_by_key(|session| session.last_used())
    }

    /// The session with this id. The session of another user, or of another profile, is treated as
    /// unknown.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let session = self.shard(id).get(id).cloned()?;
        let client = session.client();
        let is_own = client.principal.who == principal.who && client.principal.profile() == principal.profile();
        is_own.then_some(session)
    }

    /// The session with this digest.
    pub(super) fn by_digest(&self, digest: SessionDigest) -> Option<Arc<Session>> {
        let id = self.register().digests.get(&digest).cloned()?;
        self.shard(&id).get(&id).cloned()
    }

    pub(super) fn count(&self) -> usize {
        self.register().digests.len()
    }

    /// Removes a session from the table. The caller must end or forget it.
    pub(super) fn remove(&self, id: &str) -> Option<Arc<Session>> {
        self.remove_from(&mut self.register(), id)
    }

    fn remove_from(&self, register: &mut Register, id: &str) -> Option<Arc<Session>> {
        let session = self.shard(id).remove(id)?;
        register.remove(&session);
        Some(session)
    }

    /// Removes all sessions that match. The caller must end or forget them.
    pub(super) fn remove_where(&self, matches: impl Fn(&Session) -> bool) -> Vec<Arc<Session>> {
        let mut register = self.register();
        let mut removed = Vec::new();
        for shard in &self.shards {
            removed.extend(shard.lock().extract_if(|_, session| matches(session)).map(|(_, session)| session));
        }
        removed.iter().for_each(|session| register.remove(session));
        removed
    }

    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(shard.lock().values().cloned());
        }
        all
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
