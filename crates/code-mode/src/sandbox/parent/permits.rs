//! Limits how many scripts run at once, in total and per person, so that a person with many scripts delays only their own.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use proxy_model::Owner;

const MAX_SCRIPTS: usize = 64;
const MAX_SCRIPTS_PER_PERSON: usize = 16;

pub(super) struct ScriptPermits {
    total: Arc<Semaphore>,
    /// Of the persons that have scripts now.
    by_person: Mutex<HashMap<Owner, Weak<Semaphore>>>,
}

/// The right to run one script, until it is dropped.
#[derive(Debug)]
pub(super) struct ScriptPermit {
    _of_person: Option<OwnedSemaphorePermit>,
    _of_total: OwnedSemaphorePermit,
}

impl ScriptPermits {
    pub(super) fn new() -> Self {
        ScriptPermits { total: Arc::new(Semaphore::new(MAX_SCRIPTS)), by_person: Mutex::default() }
    }

    /// Waits for a permit. Scripts without a person are the operator's own, and only the total limit applies to them.
    pub(super) async fn acquire(&self, person: Option<&Owner>) -> Option<ScriptPermit> {
        let of_person = match person {
            Some(person) => Some(self.of(person).acquire_owned().await.ok()?),
            None => None,
        };
        let of_total = Arc::clone(&self.total).acquire_owned().await.ok()?;
        Some(ScriptPermit { _of_person: of_person, _of_total: of_total })
    }

    fn of(&self, person: &Owner) -> Arc<Semaphore> {
        let mut by_person = self.by_person.lock();
        if let Some(known) = by_person.get(person).and_then(Weak::upgrade) {
            return known;
        }
        // Persons without scripts are forgotten.
        by_person.retain(|_, permits| permits.strong_count() > 0);
        let permits = Arc::new(Semaphore::new(MAX_SCRIPTS_PER_PERSON));
        by_person.insert(person.clone(), Arc::downgrade(&permits));
        permits
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use proxy_model::Principal;

    #[test]
    fn a_person_at_the_limit_waits_and_no_other_does() {
        let permits = ScriptPermits::new();
        let (one, other) = (Owner::Person(Principal::named("ann").who.clone()), Owner::Everybody);
        let mut acquired = Vec::new();
        for _ in 0..MAX_SCRIPTS_PER_PERSON {
            acquired.push(permits.acquire(Some(&one)).now_or_never().flatten().expect("there is a permit"));
        }
        let mut next = Box::pin(permits.acquire(Some(&one)));
        assert!((&mut next).now_or_never().is_none());
        assert!(permits.acquire(Some(&other)).now_or_never().is_some());
        assert!(permits.acquire(None).now_or_never().is_some());
        acquired.pop();
        assert!((&mut next).now_or_never().is_some());
    }

    #[test]
    fn all_persons_share_the_total_and_a_person_without_scripts_is_forgotten() {
        let permits = ScriptPermits::new();
        let owners: Vec<Owner> = (0..MAX_SCRIPTS).map(|_| Owner::new_connection()).collect();
        let acquired: Vec<_> =
            owners.iter().map(|owner| permits.acquire(Some(owner)).now_or_never().flatten()).collect();
        assert!(acquired.iter().all(Option::is_some));
        assert!(permits.acquire(Some(&Owner::new_connection())).now_or_never().is_none());
        drop(acquired);
        assert!(permits.acquire(Some(&owners[0])).now_or_never().is_some());
        assert_eq!(permits.by_person.lock().len(), 1);
    }
}
