//! How many scripts run at once: so many of everybody, and fewer of one owner, so that whoever sends many delays their own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::model::Owner;

const MOST: usize = 64;
const MOST_OF_ONE: usize = 16;

pub(super) struct Places {
    all: Arc<Semaphore>,
    /// Of those who have scripts now.
    own: Mutex<HashMap<Owner, Weak<Semaphore>>>,
}

/// Dropping it lets the next one in.
#[derive(Debug)]
pub(super) struct Place {
    _of_owner: Option<OwnedSemaphorePermit>,
    _of_all: OwnedSemaphorePermit,
}

impl Places {
    pub(super) fn new() -> Self {
        Places { all: Arc::new(Semaphore::new(MOST)), own: Mutex::default() }
    }

    /// Waits for a place. Without an owner it is one of the operator's own.
    pub(super) async fn take(&self, owner: Option<&Owner>) -> Option<Place> {
        let of_owner = match owner {
            Some(owner) => Some(self.of(owner).acquire_owned().await.ok()?),
            None => None,
        };
        let of_all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Place { _of_owner: of_owner, _of_all: of_all })
    }

    fn of(&self, owner: &Owner) -> Arc<Semaphore> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = own.get(owner).and_then(Weak::upgrade) {
            return known;
        }
        // Whoever has none any more is forgotten.
        own.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(MOST_OF_ONE));
        own.insert(owner.clone(), Arc::downgrade(&places));
        places
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn who_has_many_waits_for_their_own_and_nobody_else_waits() {
        let places = Places::new();
        let (one, other) = (Owner::new_session(), Owner::new_session());
        let mut taken = Vec::new();
        for _ in 0..MOST_OF_ONE {
            taken.push(places.take(Some(&one)).now_or_never().flatten().expect("there is a place"));
        }
        let mut next = Box::pin(places.take(Some(&one)));
        assert!((&mut next).now_or_never().is_none());
        assert!(places.take(Some(&other)).now_or_never().is_some());
        assert!(places.take(None).now_or_never().is_some());
        taken.pop();
        assert!((&mut next).now_or_never().is_some());
    }

    #[test]
    fn all_together_have_so_many_and_who_is_done_is_forgotten() {
        let places = Places::new();
        let owners: Vec<Owner> = (0..MOST).map(|_| Owner::new_session()).collect();
        let taken: Vec<_> = owners.iter().map(|owner| places.take(Some(owner)).now_or_never().flatten()).collect();
        assert!(taken.iter().all(Option::is_some));
        assert!(places.take(Some(&Owner::new_session())).now_or_never().is_none());
        drop(taken);
        assert!(places.take(Some(&owners[0])).now_or_never().is_some());
        assert_eq!(places.own.lock().unwrap().len(), 1);
    }
}
