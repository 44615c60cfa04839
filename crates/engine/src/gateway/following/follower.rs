//! A client that follows a resource, and what it knows of the resource.

use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::gateway::surfaces::SurfaceHandle;
use crate::surface::UpdateSource;
use proxy_json::RawRef;
use proxy_mcp_client::{Subscriber, UpdateListener};
use proxy_model::Owner;

/// The surface that a client has now. It changes when the groups or claims of its user do.
pub type CurrentSurface = Arc<Mutex<Option<Arc<SurfaceHandle>>>>;

/// What is refreshed together: a resource of an extension, under whatever URI it is published, or a URI of the script.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FollowedKey {
    pub(super) source: UpdateSource,
    /// The published URI of a resource of the script.
    uri: Option<Arc<str>>,
}

/// A client that begins to follow a resource.
pub struct NewFollower {
    /// The published URI.
    pub uri: Arc<str>,
    pub source: UpdateSource,
    pub surface: CurrentSurface,
    pub subscriber: Subscriber,
    /// Called when the resource has changed.
    pub listener: UpdateListener,
}

impl NewFollower {
    pub(super) fn key(&self) -> FollowedKey {
        let uri = (self.source == UpdateSource::Script).then(|| Arc::clone(&self.uri));
        FollowedKey { source: self.source.clone(), uri }
    }

    /// The follower, and the end of its wait for the first result.
    pub(super) fn into_follower(self) -> (ResourceFollower, oneshot::Receiver<()>) {
        let (ready, first_result) = oneshot::channel();
        let follower = ResourceFollower {
            uri: self.uri,
            surface: self.surface,
            subscriber: self.subscriber,
            listener: self.listener,
            seen: None,
            waits: Some(ready),
            tells_first: false,
        };
        (follower, first_result)
    }
}

pub(super) struct ResourceFollower {
    pub(super) uri: Arc<str>,
    pub(super) surface: CurrentSurface,
    pub(super) subscriber: Subscriber,
    pub(super) listener: UpdateListener,
    /// The last refresh that was for this follower; `None` before the first.
    pub(super) seen: Option<Seen>,
    /// Wakes the subscription that waits for the first result.
    pub(super) waits: Option<oneshot::Sender<()>>,
    /// Whether the first result is reported as a change, because it is unknown what the client has read meanwhile.
    pub(super) tells_first: bool,
}

impl ResourceFollower {
    /// Notes the outcome of a refresh. Returns whether the client has to be told.
    pub(super) fn note(&mut self, seen: Seen) -> bool {
        let is_told = match &self.seen {
            Some(before) => seen.contents.is_some() && seen.contents != before.contents,
            None => self.tells_first && seen.contents.is_some(),
        };
        // What failed has the contents that it had before.
        let contents = seen.contents.or_else(|| self.seen.as_ref().and_then(|before| before.contents));
        self.seen = Some(Seen { contents, ..seen });
        self.settle();
        is_told
    }

    /// Ends the wait for the first result.
    pub(super) fn settle(&mut self) {
        if let Some(waiting) = self.waits.take() {
            // Fails if nobody waits any more.
            let _ = waiting.send(());
        }
    }
}

/// The digest of a result.
pub(super) type Contents = [u8; 32];

pub(super) fn digest(result: &RawRef) -> Contents {
    Sha256::digest(result.get().as_bytes()).into()
}

/// What a follower knows from a refresh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// The last result; `None` if there was none yet.
    pub(super) contents: Option<Contents>,
    /// Why the last refresh failed.
    pub(super) error: Option<Arc<str>>,
    pub(super) at: Instant,
    /// The run of the script whose handler it was.
    pub(super) run: u64,
    /// Whom the result is for; `None` if it is for everybody.
    pub(super) owner: Option<Owner>,
}

impl Seen {
    /// Whether the result is also that of another follower.
    pub(super) fn is_for(&self, run: u64, owner: &Owner) -> bool {
        self.run == run && self.owner.as_ref().is_none_or(|own| own == owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_model::{Abilities, ClientProfile, Era, Sid};

    fn follower() -> ResourceFollower {
        let profile = ClientProfile { era: Era::Session, abilities: Abilities::default() };
        let subscriber =
            Subscriber { owner: Owner::Process, person: Owner::Process, person_key: None, profile, gone: None };
        let new = NewFollower {
            uri: "x://y".into(),
            source: UpdateSource::Script,
            surface: Arc::default(),
            subscriber,
            listener: Arc::new(|_| {}),
        };
        new.into_follower().0
    }

    fn seen(contents: Option<u8>) -> Seen {
        let contents = contents.map(|byte| [byte; 32]);
        Seen { contents, error: None, at: Instant::now(), run: 0, owner: None }
    }

    #[test]
    fn only_another_result_is_told_and_a_failure_keeps_the_last_one() {
        let mut follower = follower();
        let told: Vec<bool> = [Some(1), Some(1), None, Some(1), Some(2), None, Some(1)]
            .into_iter()
            .map(|contents| follower.note(seen(contents)))
            .collect();
        assert_eq!(told, [false, false, false, false, true, false, true]);
    }

    #[test]
    fn the_first_result_after_failures_is_told_and_so_is_one_that_came_too_late() {
        let mut failing = follower();
        assert!(!failing.note(seen(None)));
        assert!(failing.note(seen(Some(1))));
        let mut slow = follower();
        slow.tells_first = true;
        assert!(slow.note(seen(Some(1))));
        assert!(!slow.note(seen(Some(1))));
    }

    #[test]
    fn a_personal_result_is_for_its_owner_and_its_run_alone() {
        let shared = seen(Some(1));
        assert!(shared.is_for(0, &Owner::Process) && !shared.is_for(1, &Owner::Process));
        let [one, other] = [1, 2].map(|number| Owner::Session(Sid::numbered(number)));
        let personal = Seen { owner: Some(one.clone()), ..shared };
        assert!(personal.is_for(0, &one) && !personal.is_for(0, &other));
    }
}
