//! The sessions that were ended while their ids could still be opened.

use std::collections::{BTreeSet, HashMap, HashSet};

use parking_lot::Mutex;

use super::share::share_of;
use proxy_model::{Owner, SessionDigest};

/// The maximum number of ended sessions that are remembered.
const MAX_ENDED: usize = 100_000;

/// What has ended, until the ids are too old anyway. Times are milliseconds since 1970.
pub(super) struct EndedSessions {
    state: Mutex<State>,
    limit: usize,
}

#[derive(Default)]
struct State {
    ended: HashSet<SessionDigest>,
    /// The same by who has ended them, in the order in which they may be forgotten. `None` is the operator.
    groups: HashMap<Option<Owner>, BTreeSet<(u64, SessionDigest)>>,
    epochs: HashMap<Owner, Epoch>,
}

/// All sessions of a person that were born until then have ended.
struct Epoch {
    born: u64,
    until: u64,
}

impl Default for EndedSessions {
    fn default() -> Self {
        EndedSessions { state: Mutex::default(), limit: MAX_ENDED }
    }
}

impl EndedSessions {
    /// Remembers that a session has ended, until this time. `group` has ended it; `None` is the operator.
    pub(super) fn end(&self, group: Option<Owner>, session: SessionDigest, until: u64) {
        let mut state = self.state.lock();
        if !state.ended.insert(session) {
            return;
        }
        let share = group.as_ref().map_or(self.limit, |group| share_of(self.limit, group));
        let members = state.groups.entry(group.clone()).or_default();
        members.insert((until, session));
        if members.len() > share {
            state.forget_first(&group);
        }
        if state.ended.len() > self.limit {
            let largest = state.groups.iter().max_by_key(|(_, members)| members.len()).map(|(group, _)| group.clone());
            if let Some(largest) = largest {
                state.forget_first(&largest);
            }
        }
    }

    /// All sessions of a person that were born until `born` have ended.
    pub(super) fn end_all_of(&self, person: Owner, born: u64, until: u64) {
        self.state.lock().epochs.insert(person, Epoch { born, until });
    }

    pub(super) fn has_ended(&self, person: &Owner, session: SessionDigest, born: u64) -> bool {
        let state = self.state.lock();
        state.ended.contains(&session) || state.epochs.get(person).is_some_and(|epoch| born <= epoch.born)
    }

    /// Forgets those whose ids are too old by now.
    pub(super) fn sweep(&self, now: u64) {
        let mut state = self.state.lock();
        let State { ended, groups, epochs } = &mut *state;
        for members in groups.values_mut() {
            while let Some((until, session)) = members.first().copied().filter(|(until, _)| *until <= now) {
                members.remove(&(until, session));
                ended.remove(&session);
            }
        }
        groups.retain(|_, members| !members.is_empty());
        epochs.retain(|_, epoch| epoch.until > now);
    }
}

impl State {
    /// Forgets the session of a group whose id is good for the shortest time.
    fn forget_first(&mut self, group: &Option<Owner>) {
        let Some(members) = self.groups.get_mut(group) else { return };
        if let Some((_, session)) = members.pop_first() {
            self.ended.remove(&session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_model::{Principal, Sid};

    fn session(number: u64) -> SessionDigest {
        Sid::numbered(number).digest()
    }

    fn ended(sessions: &EndedSessions, numbers: std::ops::Range<u64>) -> usize {
        numbers.filter(|number| sessions.has_ended(&Owner::Everybody, session(*number), 0)).count()
    }

    #[test]
    fn an_end_is_remembered_while_the_id_is_good() {
        let sessions = EndedSessions::default();
        sessions.end(Some(Owner::Everybody), session(1), 10);
        sessions.end(None, session(2), 20);
        sessions.sweep(9);
        assert_eq!(ended(&sessions, 0..4), 2);
        sessions.sweep(10);
        assert!(!sessions.has_ended(&Owner::Everybody, session(1), 0));
        assert!(sessions.has_ended(&Owner::Everybody, session(2), 0));
        sessions.sweep(20);
        assert_eq!(ended(&sessions, 0..4), 0);
        assert!(sessions.state.lock().groups.is_empty());
    }

    #[test]
    fn nobody_makes_the_ends_of_others_forgotten() {
        let sessions = EndedSessions { limit: 1000, ..EndedSessions::default() };
        let ann = Owner::of_handles(&Principal::named("ann"));
        for number in 0..2000 {
            sessions.end(Some(Owner::Everybody), session(number), number);
        }
        for number in 2000..2500 {
            sessions.end(Some(ann.clone()), session(number), number);
        }
        sessions.end(None, session(3000), 1);
        assert_eq!(ended(&sessions, 0..1500), 0, "the oldest go first");
        assert_eq!(ended(&sessions, 1500..2000), 500, "half for all anonymous clients");
        assert_eq!(ended(&sessions, 2000..2500), 100, "a tenth for a person");
        assert_eq!(ended(&sessions, 3000..3001), 1);
        for number in 4000..6000 {
            sessions.end(None, session(number), number);
        }
        assert_eq!(sessions.state.lock().ended.len(), 1000);
        assert_eq!(ended(&sessions, 2400..2500), 100, "the largest group makes room");
    }

    #[test]
    fn an_epoch_ends_what_a_person_opened_before() {
        let sessions = EndedSessions::default();
        let [ann, bob] = ["ann", "bob"].map(|name| Owner::of_handles(&Principal::named(name)));
        sessions.end_all_of(ann.clone(), 100, 200);
        assert!(sessions.has_ended(&ann, session(1), 100));
        assert!(!sessions.has_ended(&ann, session(1), 101));
        assert!(!sessions.has_ended(&bob, session(1), 100));
        sessions.sweep(200);
        assert!(!sessions.has_ended(&ann, session(1), 100));
    }
}
