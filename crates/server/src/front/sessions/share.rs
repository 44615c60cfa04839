//! How many sessions, or ends of sessions, one user may make the proxy keep.

use proxy_model::{Owner, Principal};

/// The least number that a person may have.
const MIN_PER_PERSON: usize = 100;

/// Who shares a number of sessions: a person, or all anonymous clients, which cannot be told apart.
pub(super) fn group(principal: &Principal) -> Owner {
    Owner::of_handles(principal)
}

/// How many of `limit` a group may have, so that no person or anonymous client takes all.
pub(super) fn share_of(limit: usize, group: &Owner) -> usize {
    let share = if *group == Owner::Everybody { limit / 2 } else { MIN_PER_PERSON.max(limit / 10) };
    share.clamp(1, limit.max(1))
}
