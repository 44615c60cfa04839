//! The HTTP sessions: those that this process serves now, the ids by which any process with the keys can serve them, and
//! those that were ended.

mod ended;
mod sealed_ids;
mod share;
mod table;

use std::sync::Arc;
use std::time::Duration;

use super::session::Session;
use crate::client::session_id::SessionId;
use crate::methods::initialize::Handshake;
use crate::replicas::StoreTime;
use ended::EndedSessions;
use proxy_base::seal::Sealer;
use proxy_config::Serve;
use proxy_model::{Principal, SessionDigest, Who};
use sealed_ids::{MAX_ID_BYTES, SealedIds};
use share::group;
use table::SessionTable;

pub(crate) use sealed_ids::OpenedId;
pub(crate) use table::AddedSession;

/// The sessions of the HTTP front. A session is *forgotten* to save memory, and may come back here or in another process;
/// it is *ended* by its client, by the operator and by its lifetime, and does not come back.
pub(crate) struct Sessions {
    table: SessionTable,
    ids: SealedIds,
    ended: EndedSessions,
    /// How long after its `initialize` a session can be used. Zero if no session comes back.
    lifetime: Duration,
    time: StoreTime,
    /// Whether other processes have the key of the ids, and the next one will.
    has_shared_keys: bool,
}

/// Why a session was not put into the table.
#[derive(Debug)]
pub(crate) enum NotAdded {
    /// All sessions of the user are in use.
    Full,
    /// It has ended meanwhile.
    Ended,
}

/// A session that its client has ended.
pub(crate) struct EndedSession {
    pub(crate) id: SessionId,
    /// If it was in the table.
    pub(crate) session: Option<Arc<Session>>,
}

impl Sessions {
    pub(crate) fn new(serve: &Serve, sealer: Sealer, time: StoreTime) -> Self {
        Sessions {
            table: SessionTable::new(serve.max_sessions, serve.session_idle_timeout),
            ids: SealedIds::new(sealer),
            ended: EndedSessions::default(),
            lifetime: serve.session_lifetime,
            time,
            has_shared_keys: !serve.state_keys.is_empty(),
        }
    }

    /// The id of a session that begins now.
    pub(crate) fn new_id(&self, principal: &Principal, handshake: &Handshake) -> Result<SessionId, getrandom::Error> {
        self.ids.seal(principal, handshake, self.time.now())
    }

    /// What the client of a session says about itself, sealed for the store.
    pub(crate) fn seal_client(&self, id: &SessionId, principal: &Principal, handshake: &Handshake) -> Option<Vec<u8>> {
        self.ids.seal_client(id, principal, handshake)
    }

    /// The handshake of a session whose client says too much about itself for an id.
    pub(crate) fn open_client(&self, id: &SessionId, principal: &Principal, sealed: &[u8]) -> Option<Handshake> {
        self.ids.open_client(id, principal, sealed)
    }

    /// The session with this id, if it is in the table. The session of another user is treated as unknown.
    pub(crate) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        if id.len() > MAX_ID_BYTES {
            return None;
        }
        let session = self.table.find(id, principal)?;
        if self.is_over(&session) {
            return None;
        }
        session.touch();
        Some(session)
    }

    /// What an id says that is not in the table. `None` if it is not one of this user, too old, or ended.
    pub(crate) fn open(&self, id: &str, principal: &Principal) -> Option<OpenedId> {
        if self.lifetime.is_zero() {
            return None;
        }
        let opened = self.ids.open(principal, id)?;
        let is_gone = self.is_too_old(opened.id.born) || self.has_ended(&opened.id, principal);
        (!is_gone).then_some(opened)
    }

    /// Puts a session into the table.
    pub(crate) fn add(&self, session: Arc<Session>) -> Result<AddedSession, NotAdded> {
        let principal = session.client().principal.clone();
        let added = self.table.add(session).ok_or(NotAdded::Full)?;
        // Looked at after it was added: whoever ends a session remembers that first, and then removes it.
        let id = &added.session.id;
        if self.has_ended(id, &principal) {
            self.table.remove(&id.text);
            return Err(NotAdded::Ended);
        }
        Ok(added)
    }

    /// Ends the session with this id for its user, whether or not it is in the table.
    pub(crate) fn end(&self, id: &str, principal: &Principal) -> Option<EndedSession> {
        let session = self.find(id, principal);
        let id = match &session {
            Some(session) => session.id.clone(),
            None => self.open(id, principal)?.id,
        };
        if !self.lifetime.is_zero() {
            let until = id.born.saturating_add(self.lifetime_millis());
            self.ended.end(Some(group(principal)), id.sid.digest(), until);
        }
        // Another request may have revived it just now.
        let session = self.table.remove(&id.text).or(session);
        Some(EndedSession { id, session })
    }

    /// Ends a session for the operator, and returns it if it was in the table.
    pub(crate) fn end_by_digest(&self, digest: SessionDigest) -> Option<Arc<Session>> {
        if self.remembers_ends() {
            self.ended.end(None, digest, self.time.now().saturating_add(self.lifetime_millis()));
        }
        self.remove_by_digest(digest)
    }

    /// The session with this digest, if it is in the table.
    pub(crate) fn by_digest(&self, digest: SessionDigest) -> Option<Arc<Session>> {
        self.table.by_digest(digest)
    }

    /// Removes a session from the table. The caller must end it.
    pub(crate) fn remove_by_digest(&self, digest: SessionDigest) -> Option<Arc<Session>> {
        self.table.remove(&self.table.by_digest(digest)?.id.text)
    }

    /// Removes a session from the table. The caller must end it.
    pub(crate) fn remove(&self, session: &Session) {
        self.table.remove(&session.id.text);
    }

    /// Removes the sessions of a person that were born until then. The caller must end them.
    pub(crate) fn remove_born_until(&self, person: &str, born: u64) -> Vec<Arc<Session>> {
        let is_ended =
            |session: &Session| session.id.born <= born && group(&session.client().principal).text("") == person;
        self.table.remove_where(is_ended)
    }

    /// How many sessions this process serves.
    pub(crate) fn count(&self) -> usize {
        self.table.count()
    }

    /// Ends all sessions of a user until now, and returns those that were in the table.
    pub(crate) fn end_all_of(&self, principal: &Principal) -> Vec<Arc<Session>> {
        self.remember_end_of(principal);
        self.table.remove_where(|session| session.client().principal.who == principal.who)
    }

    /// Ends all sessions of the users who match and have one in the table. Returns those.
    pub(crate) fn end_users(&self, matches: impl Fn(&Who) -> bool) -> Vec<Arc<Session>> {
        for session in self.table.all() {
            let principal = session.client().principal.clone();
            if matches(&principal.who) {
                self.remember_end_of(&principal);
            }
        }
        self.table.remove_where(|session| matches(&session.client().principal.who))
    }

    /// Ends all sessions of the profiles that match and have one in the table. Returns those.
    pub(crate) fn end_profiles(&self, matches: impl Fn(&str) -> bool) -> Vec<Arc<Session>> {
        let is_ended = |session: &Session| matches(session.client().principal.profile_name());
        if self.remembers_ends() {
            let until = self.time.now().saturating_add(self.lifetime_millis());
            for session in self.table.all().iter().filter(|session| is_ended(session)) {
                self.ended.end(None, session.digest(), until);
            }
        }
        self.table.remove_where(is_ended)
    }

    fn remember_end_of(&self, principal: &Principal) {
        if self.remembers_ends() {
            let now = self.time.now();
            self.ended.end_all_of(group(principal), now, now.saturating_add(self.lifetime_millis()));
        }
    }

    /// Whether a session that is not in the table can be ended.
    pub(crate) fn remembers_ends(&self) -> bool {
        !self.lifetime.is_zero()
    }

    /// Empties the table. The caller must forget the sessions.
    pub(crate) fn remove_all(&self) -> Vec<Arc<Session>> {
        self.table.remove_where(|_| true)
    }

    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        self.table.all()
    }

    /// Removes the sessions whose lifetime is over. The caller must end them.
    pub(crate) fn remove_over(&self) -> Vec<Arc<Session>> {
        self.ended.sweep(self.time.now());
        self.table.remove_where(|session| self.is_over(session))
    }

    /// Removes the idle sessions, and the expired replay buffers of the others. The caller must forget the removed sessions.
    pub(crate) fn remove_idle(&self) -> Vec<Arc<Session>> {
        for session in self.all() {
            session.remove_expired_streams();
        }
        self.table.remove_idle()
    }

    /// Whether a forgotten session may come back to this process.
    pub(crate) fn may_come_back(&self, session: &Session) -> bool {
        session.id.is_complete && !self.lifetime.is_zero()
    }

    /// Whether a session may come back after the end of this process.
    pub(crate) fn may_outlive_process(&self, session: &Session) -> bool {
        self.has_shared_keys && self.may_come_back(session)
    }

    /// Whether the lifetime of a session in the table is over. A request that is running goes on.
    fn is_over(&self, session: &Session) -> bool {
        !self.lifetime.is_zero() && self.is_too_old(session.id.born) && session.in_flight.is_empty()
    }

    fn is_too_old(&self, born: u64) -> bool {
        self.time.now().saturating_sub(born) >= self.lifetime_millis()
    }

    fn has_ended(&self, id: &SessionId, principal: &Principal) -> bool {
        self.ended.has_ended(&group(principal), id.sid.digest(), id.born)
    }

    fn lifetime_millis(&self) -> u64 {
        u64::try_from(self.lifetime.as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;

    fn sessions() -> Sessions {
        let serve = Serve { session_lifetime: Duration::from_millis(HOUR), ..Serve::default() };
        Sessions::new(&serve, Sealer::new().unwrap(), StoreTime::default())
    }

    /// A session that was opened so long ago.
    fn opened(sessions: &Sessions, principal: &Principal, age: u64) -> Arc<Session> {
        let id = sessions.ids.seal(principal, &Handshake::default(), sessions.time.now() - age).unwrap();
        Arc::new(Session::new(id, Handshake::default().client(principal.clone()), &Arc::default()))
    }

    #[test]
    fn a_lifetime_ends_a_session_once_no_request_is_running() {
        let sessions = sessions();
        let ann = Principal::named("ann");
        let old = opened(&sessions, &ann, HOUR);
        let id = old.id.text.clone();
        let running = old.in_flight.begin(&proxy_wire::Id::number(1)).unwrap();
        sessions.add(Arc::clone(&old)).unwrap();
        sessions.add(opened(&sessions, &ann, HOUR / 2)).unwrap();
        assert!(sessions.find(&id, &ann).is_some());
        assert!(sessions.remove_over().is_empty());
        drop(running);
        assert!(sessions.find(&id, &ann).is_none() && sessions.open(&id, &ann).is_none());
        assert_eq!(sessions.remove_over().len(), 1);
        assert_eq!(sessions.all().len(), 1);
    }

    #[test]
    fn a_session_that_ends_while_it_is_revived_is_not_served() {
        let sessions = sessions();
        let ann = Principal::named("ann");
        let revived = opened(&sessions, &ann, 0);
        let id = revived.id.text.clone();
        assert!(sessions.open(&id, &ann).is_some());
        assert!(sessions.end(&id, &Principal::named("bob")).is_none());
        let ended = sessions.end(&id, &ann).expect("it is hers");
        assert!(ended.session.is_none(), "it was not in the table");
        assert!(matches!(sessions.add(revived), Err(NotAdded::Ended)));
        assert!(sessions.all().is_empty() && sessions.end(&id, &ann).is_none());
    }

    #[test]
    fn without_a_lifetime_a_session_stays_as_long_as_it_is_used() {
        let serve = Serve { session_lifetime: Duration::ZERO, ..Serve::default() };
        let sessions = Sessions::new(&serve, Sealer::new().unwrap(), StoreTime::default());
        let ann = Principal::named("ann");
        let old = opened(&sessions, &ann, 10_000 * HOUR);
        let id = old.id.text.clone();
        assert!(sessions.open(&id, &ann).is_none());
        sessions.add(Arc::clone(&old)).unwrap();
        assert!(sessions.find(&id, &ann).is_some() && sessions.remove_over().is_empty());
        assert!(!sessions.may_come_back(&old));
        assert!(sessions.end(&id, &ann).is_some() && sessions.find(&id, &ann).is_none());
    }
}
