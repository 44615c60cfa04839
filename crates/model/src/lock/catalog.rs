//! The lock as a catalog: what clients see of a server that has not been started yet on this machine.

use std::sync::Arc;

use super::file::{LockedItem, LockedServer};
use super::profiles::chosen;
use super::review::SeenLists;
use super::rules::Lock;
use crate::{Abilities, ClientProfile, Definition, Era, Lists, PerKind};

impl Lock {
    /// What clients of each known profile see of a server, as far as the lock has it; empty if it does not know the server.
    pub fn known_lists(&self, server: &str) -> Vec<SeenLists> {
        let identity = self.rules.get(server).map(|rules| &rules.identity);
        let known = self.file.servers.get(server).filter(|known| Some(&known.identity) == identity);
        known.map(LockedServer::known_lists).unwrap_or_default()
    }
}

impl LockedServer {
    fn known_lists(&self) -> Vec<SeenLists> {
        let seen = |profile: ClientProfile| {
            let info = chosen(&self.infos, |seen| &seen.profiles, profile).map(|seen| Arc::clone(&seen.info));
            let lists: Lists =
                PerKind::make(|kind| self.items.of(kind).values().filter_map(|item| item.shown_to(profile)).collect());
            Some(SeenLists { profile, info: info?, lists: Arc::new(lists) })
        };
        self.profiles().into_iter().filter_map(seen).collect()
    }

    /// The profiles that the lock tells apart, those that clients most often have first.
    fn profiles(&self) -> Vec<ClientProfile> {
        let of_items = PerKind::iter(&self.items).flat_map(|items| items.values()).flat_map(|item| &item.definitions);
        let of_items = of_items.flat_map(|approved| &approved.profiles);
        let mut profiles: Vec<ClientProfile> =
            self.infos.iter().flat_map(|seen| &seen.profiles).chain(of_items).copied().collect();
        let is_stateless = self.infos.iter().all(|seen| seen.info.era() == Era::Stateless);
        let era = if is_stateless { Era::Stateless } else { Era::Session };
        profiles.push(ClientProfile { era, abilities: Abilities::NONE });
        profiles.sort_by_key(|profile| (profile.era == Era::Stateless, profile.abilities.count()));
        profiles.dedup();
        profiles
    }
}

impl LockedItem {
    /// What clients of a profile see of the item; `None` if they do not see it.
    fn shown_to(&self, profile: ClientProfile) -> Option<Arc<Definition>> {
        let is_for = |seen: &ClientProfile| seen.era == profile.era && seen.abilities.is_subset_of(profile.abilities);
        let is_seen = |profiles: &[ClientProfile]| profiles.is_empty() || profiles.iter().any(is_for);
        if self.absent || !self.definitions.iter().any(|approved| is_seen(&approved.profiles)) {
            return None;
        }
        chosen(&self.definitions, |approved| &approved.profiles, profile)
            .map(|approved| Arc::clone(&approved.definition))
    }
}
