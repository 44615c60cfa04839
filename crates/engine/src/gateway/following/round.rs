//! One round of refreshes of a followed resource: once for all followers, or once for each owner if the handler depends on
//! the caller.

use std::sync::Arc;

use futures::StreamExt;
use indexmap::IndexMap;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::follower::{Seen, digest};
use super::group::{FollowerGroup, GroupMember, LoadedFiles};
use super::peer::FollowerPeer;
use crate::calls::{Calls, RefreshTarget, RequestContext};
use crate::gateway::start::Gateway;
use crate::gateway::surfaces::SurfaceHandle;
use crate::surface::Surface;
use proxy_base::watch::stamps;
use proxy_mcp_client::Cancellation;
use proxy_model::Owner;

/// How many owners' resources are refreshed at a time.
const MAX_CONCURRENT_OWNERS: usize = 8;

/// A follower with the surface that it has now.
struct Placed {
    member: GroupMember,
    handle: Arc<SurfaceHandle>,
    surface: Arc<Surface>,
    owner: Owner,
}

/// The followers whose resource the same handler makes.
struct Audience {
    target: RefreshTarget,
    followers: Vec<Placed>,
}

struct Round<'a> {
    gateway: &'a Arc<Gateway>,
    group: &'a Arc<FollowerGroup>,
    calls: Arc<Calls>,
    /// Stops handlers when the last follower has left.
    cancel: Cancellation,
    files: Mutex<LoadedFiles>,
}

/// Refreshes what is due, and gives new followers their first result.
pub(super) async fn run(gateway: &Arc<Gateway>, group: &Arc<FollowerGroup>) {
    let (is_whole, is_outdated) = group.begin_round();
    let cancel = Cancellation::default();
    let _stop = cancel.token().clone().drop_guard();
    let round = Round { gateway, group, calls: gateway.calls(), cancel, files: Mutex::default() };
    let mut next = None;
    for Audience { target, followers } in round.audiences(is_whole).await {
        let began = Instant::now();
        let due_at = |follower: &Placed| follower.member.seen.as_ref().map(|seen| seen.at + target.interval);
        let is_due = |follower: &Placed| is_outdated || due_at(follower).is_none_or(|at| at <= began);
        let (due, waiting): (Vec<Placed>, Vec<Placed>) = followers.into_iter().partition(is_due);
        if !waiting.is_empty() {
            round.keep_files().await;
        }
        let waiting_until = waiting.iter().filter_map(due_at).min();
        let refreshed = round.refresh(due, &target, began).await.then_some(began + target.interval);
        next = [next, waiting_until, refreshed].into_iter().flatten().min();
    }
    let files = group.end_round(is_whole, next, round.files.into_inner());
    gateway.following.files.set(group, files);
}

impl Round<'_> {
    /// The followers, grouped by the handler that produces their resource. Followers to whom the resource is not
    /// published now are left out.
    async fn audiences(&self, is_whole: bool) -> Vec<Audience> {
        let mut audiences: IndexMap<u64, Audience> = IndexMap::new();
        for member in self.group.members(is_whole) {
            let id = member.id;
            match self.place(member).await {
                Some((target, placed)) => {
                    let audience = audiences.entry(target.run);
                    audience.or_insert_with(|| Audience { target, followers: Vec::new() }).followers.push(placed);
                }
                None => self.group.settle(id),
            }
        }
        audiences.into_values().collect()
    }

    async fn place(&self, member: GroupMember) -> Option<(RefreshTarget, Placed)> {
        let handle = member.surface.lock().clone()?;
        let surface = self.gateway.surface(&handle).await.ok()?;
        let target = self.calls.refresh_target(&surface, &member.uri)?;
        if target.source != self.group.key.source {
            return None;
        }
        let owner = Owner::of_values(&handle.key().principal, Some(&member.subscriber.owner));
        Some((target, Placed { member, handle, surface, owner }))
    }

    /// Refreshes the resource for followers of one audience. Returns false if that was not necessary: new followers may have
    /// the result of the last refresh.
    async fn refresh(&self, mut followers: Vec<Placed>, target: &RefreshTarget, began: Instant) -> bool {
        if followers.iter().all(|follower| follower.member.seen.is_none()) {
            followers.retain(|follower| !self.group.adopt(follower.member.id, target.run, &follower.owner));
            if followers.is_empty() {
                return false;
            }
        }
        // The handler must run for a follower who may read the resource.
        while let Some(first) = followers.first() {
            let Some(seen) = self.refresh_for(first, target, began).await else {
                self.group.settle(followers.remove(0).member.id);
                continue;
            };
            let Some(owner) = &seen.owner else {
                self.group.note(followers.iter().map(|follower| follower.member.id), &seen);
                return true;
            };
            let (own, others): (Vec<Placed>, Vec<Placed>) =
                followers.into_iter().partition(|follower| follower.owner == *owner);
            self.group.note(own.iter().map(|follower| follower.member.id), &seen);
            self.refresh_for_each_owner(others, target, began).await;
            return true;
        }
        true
    }

    async fn refresh_for_each_owner(&self, followers: Vec<Placed>, target: &RefreshTarget, began: Instant) {
        let mut by_owner: IndexMap<Owner, Vec<Placed>> = IndexMap::new();
        for follower in followers {
            by_owner.entry(follower.owner.clone()).or_default().push(follower);
        }
        let refresh = |followers: Vec<Placed>| async move {
            for (index, follower) in followers.iter().enumerate() {
                match self.refresh_for(follower, target, began).await {
                    Some(seen) => {
                        self.group.note(followers[index..].iter().map(|follower| follower.member.id), &seen);
                        return;
                    }
                    None => self.group.settle(follower.member.id),
                }
            }
        };
        futures::stream::iter(by_owner.into_values()).for_each_concurrent(MAX_CONCURRENT_OWNERS, refresh).await;
    }

    /// Runs the handler for one follower. `None` if this follower may not read the resource.
    async fn refresh_for(&self, follower: &Placed, target: &RefreshTarget, began: Instant) -> Option<Seen> {
        let key = follower.handle.key();
        let peer = Arc::new(FollowerPeer(follower.member.subscriber.clone()));
        let request = RequestContext {
            client: Arc::clone(&key.client),
            scope_rules: self.gateway.scope_rules(),
            cancel: self.cancel.clone(),
            ..RequestContext::local(key.principal.clone(), Arc::clone(&follower.surface), Some(peer))
        };
        let uri = &follower.member.uri;
        let refreshed = self.calls.refresh(&request, uri, &target.source).await?;
        let loaded = refreshed.files.into_iter().map(|file| (file.path, file.stamp));
        self.files.lock().extend(loaded);
        let error: Option<Arc<str>> = refreshed.result.as_ref().err().map(|error| error.as_str().into());
        let known = follower.member.seen.as_ref().and_then(|seen| seen.error.as_ref());
        match &error {
            Some(error) => {
                self.keep_files().await;
                if known != Some(error) {
                    tracing::warn!(resource = %uri, "a resource that clients follow cannot be refreshed: {error}");
                }
            }
            None if known.is_some() => tracing::info!(resource = %uri, "the resource is refreshed again"),
            None => {}
        }
        Some(Seen {
            contents: refreshed.result.ok().map(|result| digest(&result)),
            error,
            at: began,
            run: target.run,
            owner: refreshed.is_personal.then(|| follower.owner.clone()),
        })
    }

    /// Keeps watching the files of the last refresh, as they are now: a failed refresh may not have come to load them.
    async fn keep_files(&self) {
        let now = stamps(self.group.files()).await;
        let mut files = self.files.lock();
        for (path, stamp) in now {
            files.entry(path).or_insert(stamp);
        }
    }
}
