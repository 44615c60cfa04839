//! Keeps each caller's newest valid token, but only if a server needs it for token exchange.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use proxy_model::{PersonKey, Principal, Secret};

const MAX_PEOPLE: usize = 10_000;
/// How often tokens that have ended are forgotten.
const PURGE_INTERVAL: Duration = Duration::from_secs(60);
/// A token is not used in the last seconds of its life: it could end on the way.
pub(super) const MARGIN: Duration = Duration::from_secs(15);

pub(super) type SubjectDigest = [u8; 32];

/// The token of a caller.
#[derive(Debug)]
pub(super) struct SubjectToken {
    pub(super) token: Secret,
    pub(super) digest: SubjectDigest,
    pub(super) ends: SystemTime,
}

impl SubjectToken {
    pub(super) fn new(token: &str, ends: SystemTime) -> Self {
        SubjectToken { token: Secret::new(token), digest: Sha256::digest(token.as_bytes()).into(), ends }
    }

    /// Whether it may still be used.
    pub(super) fn counts(&self, now: SystemTime) -> bool {
        now + MARGIN < self.ends
    }
}

/// The newest token of one person.
#[derive(Debug, Default)]
pub(super) struct PersonToken {
    pub(super) newest: watch::Sender<Option<Arc<SubjectToken>>>,
}

impl PersonToken {
    /// The token to exchange; `None` if there is none that counts.
    pub(super) fn get(&self) -> Option<Arc<SubjectToken>> {
        self.newest.borrow().clone().filter(|token| token.counts(SystemTime::now()))
    }
}

/// The newest token of each person whose token some server needs.
#[derive(Debug)]
pub struct SubjectTokens {
    /// Whose tokens are kept.
    issuers: ArcSwap<Vec<String>>,
    people: Mutex<HashMap<PersonKey, Arc<PersonToken>>>,
    purged: Mutex<Instant>,
}

impl Default for SubjectTokens {
    fn default() -> Self {
        SubjectTokens { issuers: ArcSwap::default(), people: Mutex::default(), purged: Mutex::new(Instant::now()) }
    }
}

impl SubjectTokens {
    /// Keeps the tokens of these issuers from now on. What was kept is forgotten: other rules may hold for it now.
    pub fn keep_those_of(&self, issuers: Vec<String>) {
        self.issuers.store(Arc::new(issuers));
        self.forget_all();
    }

    /// Forgets all tokens. Callers show them again with their next requests.
    pub fn forget_all(&self) {
        let mut people = self.people.lock();
        people.retain(|_, token| {
            token.newest.send_replace(None);
            is_used(token)
        });
    }

    /// A caller has shown a token that was accepted, and that ends at this time.
    pub fn show(&self, principal: &Principal, token: &str, ends: Option<SystemTime>) {
        if !self.issuers.load().iter().any(|issuer| issuer == principal.issuer()) {
            return;
        }
        let (Some(person), Some(ends)) = (PersonKey::of(principal), ends) else { return };
        let known = self.of(&person);
        let is_same =
            |shown: &Arc<SubjectToken>| shown.ends == ends && shown.token.reveal().as_bytes() == token.as_bytes();
        if known.newest.borrow().as_ref().is_some_and(is_same) {
            return;
        }
        let shown = SubjectToken::new(token, ends);
        // One that is about to end takes nothing from requests with a better one.
        if shown.counts(SystemTime::now()) || known.get().is_none() {
            known.newest.send_replace(Some(Arc::new(shown)));
        }
    }

    /// Where the token of a person is.
    pub(super) fn of(&self, person: &PersonKey) -> Arc<PersonToken> {
        let mut people = self.people.lock();
        if let Some(known) = people.get(person) {
            return Arc::clone(known);
        }
        self.make_room(&mut people);
        Arc::clone(people.entry(person.clone()).or_default())
    }

    /// Forgets tokens that have ended, and beyond the maximum those that end first.
    fn make_room(&self, people: &mut HashMap<PersonKey, Arc<PersonToken>>) {
        let is_full = people.len() >= MAX_PEOPLE;
        let mut purged = self.purged.lock();
        if !is_full && purged.elapsed() < PURGE_INTERVAL {
            return;
        }
        *purged = Instant::now();
        people.retain(|_, token| {
            let counts = token.get().is_some();
            if !counts {
                token.newest.send_replace(None);
            }
            counts || is_used(token)
        });
        while people.len() >= MAX_PEOPLE {
            let unused = people.iter().filter(|(_, token)| !is_used(token));
            let end = |token: &PersonToken| token.newest.borrow().as_ref().map(|token| token.ends);
            let Some(first) = unused.min_by_key(|(_, token)| end(token)).map(|(person, _)| person.clone()) else {
                return;
            };
            people.remove(&first);
        }
    }
}

/// Whether a connection needs it.
fn is_used(token: &Arc<PersonToken>) -> bool {
    Arc::strong_count(token) > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_model::Realm;

    fn ann() -> Principal {
        Principal::of(Realm::Issuer("https://a".into()), "ann")
    }

    fn later(seconds: u64) -> Option<SystemTime> {
        Some(SystemTime::now() + Duration::from_secs(seconds))
    }

    fn kept(tokens: &SubjectTokens, principal: &Principal) -> Option<String> {
        let person = tokens.of(&PersonKey::of(principal)?);
        person.get().map(|token| token.token.reveal().to_owned())
    }

    #[test]
    fn a_token_is_kept_only_if_some_server_needs_those_of_its_issuer() {
        let tokens = SubjectTokens::default();
        tokens.show(&ann(), "t1", later(600));
        assert_eq!(kept(&tokens, &ann()), None);
        tokens.keep_those_of(vec!["https://a".to_owned()]);
        tokens.show(&ann(), "t1", later(600));
        tokens.show(&Principal::of(Realm::Issuer("https://b".into()), "ann"), "t2", later(600));
        tokens.show(&Principal::named("ann"), "t3", later(600));
        assert_eq!(kept(&tokens, &ann()).as_deref(), Some("t1"));
        assert_eq!(tokens.people.lock().len(), 1);
        assert!(!format!("{tokens:?}").contains("t1"));
    }

    #[test]
    fn the_newest_token_counts_until_shortly_before_its_end() {
        let tokens = SubjectTokens::default();
        tokens.keep_those_of(vec!["https://a".to_owned()]);
        tokens.show(&ann(), "t1", later(600));
        tokens.show(&ann(), "t2", later(500));
        assert_eq!(kept(&tokens, &ann()).as_deref(), Some("t2"));
        tokens.show(&ann(), "t3", later(14));
        assert_eq!(kept(&tokens, &ann()).as_deref(), Some("t2"));
        let bob = Principal::of(Realm::Issuer("https://a".into()), "bob");
        tokens.show(&bob, "t3", later(14));
        assert_eq!(kept(&tokens, &bob), None);
        tokens.show(&ann(), "t4", later(600));
        tokens.forget_all();
        assert_eq!(kept(&tokens, &ann()), None);
    }

    #[test]
    fn the_number_of_people_has_a_bound() {
        let tokens = SubjectTokens::default();
        tokens.keep_those_of(vec!["https://a".to_owned()]);
        for number in 0..MAX_PEOPLE as u64 + 5 {
            let person = Principal::of(Realm::Issuer("https://a".into()), &number.to_string());
            tokens.show(&person, "t", later(600 + number));
        }
        assert_eq!(tokens.people.lock().len(), MAX_PEOPLE);
        assert_eq!(kept(&tokens, &Principal::of(Realm::Issuer("https://a".into()), "0")), None);
    }
}
