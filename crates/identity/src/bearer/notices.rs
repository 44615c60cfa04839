//! Notices for operators about an issuer's tokens: counted, and logged at a limited rate. They never contain claim values.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};

/// How often the log says of one user that their groups are unknown.
const PER_USER: Quota = Quota::per_hour(NonZeroU32::MIN);
/// How often the log says that claims are of another kind.
const ODD_CLAIMS: Quota = Quota::per_minute(NonZeroU32::MIN);
/// How often users are forgotten whose hour is over.
const SWEEPS: Quota = Quota::per_minute(NonZeroU32::MIN);
/// The most users that are remembered; further ones are counted, and not named.
const MAX_USERS: usize = 10_000;

#[derive(Debug)]
pub(super) struct Notices {
    omitted_groups: AtomicU64,
    odd_claims: AtomicU64,
    users: DefaultKeyedRateLimiter<Arc<str>>,
    odd_lines: DefaultDirectRateLimiter,
    sweeps: DefaultDirectRateLimiter,
}

impl Default for Notices {
    fn default() -> Self {
        Notices {
            omitted_groups: AtomicU64::default(),
            odd_claims: AtomicU64::default(),
            users: RateLimiter::keyed(PER_USER),
            odd_lines: RateLimiter::direct(ODD_CLAIMS),
            sweeps: RateLimiter::direct(SWEEPS),
        }
    }
}

impl Notices {
    /// The issuer left the groups out of a token because there are too many.
    pub(super) fn groups_omitted(&self, issuer: &str, user: &Arc<str>) {
        self.omitted_groups.fetch_add(1, Ordering::Relaxed);
        if self.users.len() >= MAX_USERS && self.sweeps.check().is_ok() {
            self.users.retain_recent();
        }
        if self.users.len() >= MAX_USERS || self.users.check_key(user).is_err() {
            return;
        }
        tracing::warn!(
            %issuer, %user,
            "the token has no groups because the user has too many; the proxy treats the user as having none. Configure \
             the issuer to send only the groups of this application"
        );
    }

    /// A claim is of another kind than its use demands, and counts as absent.
    pub(super) fn odd_claim(&self, issuer: &str, claim: &str) {
        self.odd_claims.fetch_add(1, Ordering::Relaxed);
        if self.odd_lines.check().is_ok() {
            tracing::warn!(%issuer, "ignoring the claim `{claim}` of a token: it is neither a string nor a list of strings");
        }
    }

    pub(super) fn omitted_groups(&self) -> u64 {
        self.omitted_groups.load(Ordering::Relaxed)
    }

    pub(super) fn odd_claims(&self) -> u64 {
        self.odd_claims.load(Ordering::Relaxed)
    }
}
