//! What an operator should know about the tokens of an issuer: counted, and in the log from time to time. Never a value.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How often the log says of one user that their groups are unknown.
const PER_USER: Duration = Duration::from_secs(3600);
/// How often the log says that claims are of another kind.
const ODD_CLAIMS: Duration = Duration::from_secs(60);
/// The most users that are remembered.
const MAX_USERS: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Notices {
    omitted_groups: AtomicU64,
    odd_claims: AtomicU64,
    users: Mutex<HashMap<Arc<str>, Instant>>,
    last_odd: Mutex<Option<Instant>>,
}

impl Notices {
    /// The issuer left the groups out of a token because there are too many.
    pub(super) fn groups_omitted(&self, issuer: &str, user: &Arc<str>) {
        self.omitted_groups.fetch_add(1, Ordering::Relaxed);
        let (mut users, now) = (self.users.lock(), Instant::now());
        if users.get(user).is_some_and(|last| now.duration_since(*last) < PER_USER) {
            return;
        }
        if users.len() >= MAX_USERS {
            users.retain(|_, last| now.duration_since(*last) < PER_USER);
        }
        if users.len() < MAX_USERS {
            users.insert(Arc::clone(user), now);
        }
        tracing::warn!(
            %issuer, %user,
            "the token of this user has no groups, because there are too many: the user counts as one without groups. Let \
             the issuer send only the groups of this application"
        );
    }

    /// A claim is of another kind than its use demands, and counts as absent.
    pub(super) fn odd_claim(&self, issuer: &str, claim: &str) {
        self.odd_claims.fetch_add(1, Ordering::Relaxed);
        let (mut last, now) = (self.last_odd.lock(), Instant::now());
        if last.is_none_or(|last| now.duration_since(last) >= ODD_CLAIMS) {
            *last = Some(now);
            tracing::warn!(%issuer, "the claim `{claim}` of a token is neither a text nor a list of texts: it is ignored");
        }
    }

    pub(super) fn omitted_groups(&self) -> u64 {
        self.omitted_groups.load(Ordering::Relaxed)
    }

    pub(super) fn odd_claims(&self) -> u64 {
        self.odd_claims.load(Ordering::Relaxed)
    }
}
