//! Script and extension resources that clients are subscribed to. While a resource has followers, its handler runs at most
//! every `refresh` seconds, once for all followers, and the followers whose result has changed are notified. Without
//! followers, nothing runs.

mod files;
mod follower;
mod group;
mod peer;
mod round;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use super::start::Gateway;
use files::FileWatch;
use group::FollowerGroup;
use proxy_mcp_client::Subscription;

use follower::FollowedKey;
pub use follower::{CurrentSurface, NewFollower};

/// How long a subscription waits for the first result, with which later results are compared. If the first result arrives
/// later, the follower is notified of it.
const FIRST_RESULT_TIMEOUT: Duration = Duration::from_secs(4);

/// Refreshes the resources that clients follow.
#[derive(Default)]
pub(super) struct ResourceRefresher {
    groups: Mutex<HashMap<FollowedKey, Arc<FollowerGroup>>>,
    files: Arc<FileWatch>,
}

impl Gateway {
    /// Follows a resource that is refreshed, until the subscription is dropped.
    pub async fn follow(self: &Arc<Self>, new: NewFollower) -> Subscription {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (key, uri) = (new.key(), Arc::clone(&new.uri));
        let (follower, first_result) = new.into_follower();
        let group = {
            let mut groups = self.following.groups.lock();
            let group = groups.entry(key.clone()).or_insert_with(|| Arc::new(FollowerGroup::new(key.clone())));
            group.add(id, follower);
            let group = Arc::clone(group);
            group.start(|| tokio::spawn(keep_fresh(Arc::downgrade(self), Arc::downgrade(&group))).abort_handle());
            group
        };
        group.wake();
        let following = Arc::clone(&self.following);
        let subscription = Subscription::new(uri, move || following.remove(&key, id));
        if tokio::time::timeout(FIRST_RESULT_TIMEOUT, first_result).await.is_err() {
            group.tell_first_result(id);
        }
        subscription
    }
}

impl ResourceRefresher {
    /// Removes a follower. The last one stops the refreshes.
    fn remove(&self, key: &FollowedKey, id: u64) {
        let mut groups = self.groups.lock();
        let is_last = groups.get(key).is_some_and(|group| group.remove(id));
        // Dropped outside the lock, because dropping it may drop other subscriptions.
        let ended = if is_last { groups.remove(key) } else { None };
        if let Some(ended) = &ended {
            ended.stop();
            self.files.remove(key);
        }
        drop(groups);
        drop(ended);
    }
}

/// Refreshes the resource of a group until it is stopped. Refreshes follow each other, so a slow handler never runs twice at
/// once for the same followers.
async fn keep_fresh(gateway: Weak<Gateway>, group: Weak<FollowerGroup>) {
    let Some(mut surfaces) = gateway.upgrade().map(|gateway| gateway.surface_versions()) else { return };
    loop {
        let (Some(current), Some(group)) = (gateway.upgrade(), group.upgrade()) else { return };
        round::run(&current, &group).await;
        drop(current);
        tokio::select! {
            () = group.next_round() => {}
            // The script or an extension may have begun to publish the resource.
            changed = surfaces.changed() => if changed.is_err() {
                return;
            },
        }
    }
}
