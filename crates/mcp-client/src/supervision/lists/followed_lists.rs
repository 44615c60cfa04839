//! The lists of side connections that are followed at the moment.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use parking_lot::Mutex;

use super::freshness::Freshness;
use crate::transport::Signals;
use proxy_model::ClientProfile;

/// The lists of one variant: their age, and the signals of the connection they come from.
#[derive(Debug)]
pub(crate) struct VariantLists {
    pub(crate) freshness: Freshness,
    pub(crate) signals: Arc<Signals>,
}

/// The followed lists of a server, by the clients that see them.
#[derive(Debug, Default)]
pub(crate) struct FollowedLists(Mutex<HashMap<ClientProfile, Arc<VariantLists>>>);

/// Lists that a connection follows until this is dropped.
pub(crate) struct FollowedVariant<'a> {
    all: &'a FollowedLists,
    profile: ClientProfile,
    lists: Arc<VariantLists>,
}

impl FollowedLists {
    pub(crate) fn get(&self, profile: ClientProfile) -> Option<Arc<VariantLists>> {
        self.0.lock().get(&profile).cloned()
    }

    /// These clients see the lists of the main connection from now on.
    pub(crate) fn forget(&self, profile: ClientProfile) {
        self.0.lock().remove(&profile);
    }

    /// The lists for these clients come from a new connection from now on.
    pub(crate) fn follow(&self, profile: ClientProfile, signals: &Arc<Signals>) -> FollowedVariant<'_> {
        let lists = Arc::new(VariantLists { freshness: Freshness::default(), signals: Arc::clone(signals) });
        self.0.lock().insert(profile, Arc::clone(&lists));
        FollowedVariant { all: self, profile, lists }
    }
}

impl Deref for FollowedVariant<'_> {
    type Target = VariantLists;

    fn deref(&self) -> &VariantLists {
        &self.lists
    }
}

impl Drop for FollowedVariant<'_> {
    fn drop(&mut self) {
        let mut all = self.all.0.lock();
        // A newer connection may follow them by now.
        if all.get(&self.profile).is_some_and(|current| Arc::ptr_eq(current, &self.lists)) {
            all.remove(&self.profile);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_followed_until_their_last_connection_ends() {
        let (followed, profile) = (FollowedLists::default(), ClientProfile::STATELESS);
        let first = followed.follow(profile, &Arc::default());
        let second = followed.follow(profile, &Arc::default());
        drop(first);
        assert!(
            followed.get(profile).is_some_and(|lists| Arc::ptr_eq(&lists, &second.lists)),
            "the second follows them"
        );
        drop(second);
        assert!(followed.get(profile).is_none());
    }
}
