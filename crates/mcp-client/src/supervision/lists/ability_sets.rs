//! A stateless server's lists by client abilities (elicitation, sampling, roots). The abilities are sent with each request,
//! so one connection serves all sets of abilities.

use std::collections::HashMap;
use std::time::Duration;

use super::current_lists::CurrentLists;
use super::followed_lists::FollowedVariant;
use super::variants::Variants;
use crate::connection::Connection;
use proxy_model::{Abilities, ClientProfile, Era, ItemKind, Lists};

/// The lists of a connection for each set of abilities.
#[derive(Default)]
pub(crate) struct AbilitySets<'a>(HashMap<Abilities, AbilitySet<'a>>);

struct AbilitySet<'a> {
    lists: CurrentLists,
    /// The age of the lists, once there are any.
    followed: Option<FollowedVariant<'a>>,
}

impl<'a> AbilitySets<'a> {
    /// Lists items of these kinds for each set that clients have had so far, and all items for a new one. `base` is what
    /// clients see that cannot be asked anything.
    pub(crate) async fn list(
        &mut self,
        variants: &'a Variants,
        connection: &Connection,
        base: &Lists,
        kinds: &[ItemKind],
        timeout: Duration,
    ) {
        if !connection.is_stateless() {
            return;
        }
        let server = connection.server_name();
        for abilities in variants.wanted_sets() {
            let set = self.0.entry(abilities).or_insert_with(|| AbilitySet::new(abilities));
            let kinds = match set.followed {
                None => &ItemKind::ALL[..],
                Some(_) if variants.varies() => kinds,
                Some(_) => continue,
            };
            let profile = ClientProfile { era: Era::Stateless, abilities };
            match set.lists.list(server, connection, kinds, timeout).await {
                Ok(listed) if listed.is_complete() => {
                    let followed = set.followed.get_or_insert_with(|| variants.follow(profile, connection.signals()));
                    let is_first = variants.publish_set(profile, connection.info(), &set.lists.lists, base).await;
                    listed.record(connection, &followed.freshness);
                    if is_first {
                        // Sets that seemed to make no difference may be listed otherwise by now.
                        connection.signals().mark_all();
                    }
                }
                // What is missing would seem to be a difference.
                Ok(_) => tracing::debug!(%server, ?abilities, "cannot list everything for these abilities"),
                Err(reason) => tracing::debug!(%server, ?abilities, "cannot list for these abilities: {reason}"),
            }
        }
    }
}

impl AbilitySet<'_> {
    fn new(abilities: Abilities) -> Self {
        AbilitySet { lists: CurrentLists::of(abilities), followed: None }
    }
}
