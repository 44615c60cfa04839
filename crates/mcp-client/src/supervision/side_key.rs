//! The key of a side connection: decides which clients use it.

use crate::connection::Leg;
use proxy_model::{Abilities, Era, Owner};

/// Which clients may use a side connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SideKey {
    /// The client that has the connection to itself. `None` if all clients with these abilities share it.
    pub(crate) owner: Option<Owner>,
    pub(crate) abilities: Abilities,
    /// The protocol era of the connection.
    pub(crate) era: Era,
}

impl SideKey {
    /// The connection that all stateless clients share.
    pub(super) const STATELESS: SideKey = SideKey { owner: None, abilities: Abilities::NONE, era: Era::Stateless };

    /// Whether what the server lists on this connection is followed, because its clients see it.
    pub(super) fn is_listed(&self) -> bool {
        self.owner.is_none()
    }

    /// Whether the connections of these keys count toward the same per-person limit. The connection that all stateless
    /// clients share does not count for anybody.
    pub(super) fn counts_with(&self, other: &SideKey) -> bool {
        let is_counted = |key: &SideKey| key.owner.is_some() || key.era == Era::Session;
        self.owner.is_some() == other.owner.is_some() && is_counted(self) && is_counted(other)
    }

    pub(super) fn leg(&self) -> Leg {
        match self.era {
            Era::Session => Leg::Either(Era::Session),
            Era::Stateless => Leg::Stateless,
        }
    }
}
