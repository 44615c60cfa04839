//! The client profile, which determines the server connection that a client uses, and therefore the lists it sees.

use crate::Abilities;

/// One of the two ways in which MCP is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// Revisions before 2026-07-28: `initialize` opens a session, and servers send requests to clients.
    Session,
    /// Revisions from 2026-07-28 on: every request carries everything that the server has to know.
    Stateless,
}

impl Era {
    pub fn as_str(self) -> &'static str {
        match self {
            Era::Session => "session",
            Era::Stateless => "stateless",
        }
    }
}

/// The era of a client and what it can be asked. A server may list other items for clients with other profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientProfile {
    pub era: Era,
    pub abilities: Abilities,
}

impl ClientProfile {
    /// The profile of clients with sessions that cannot be asked anything.
    pub const SESSION: ClientProfile = ClientProfile { era: Era::Session, abilities: Abilities::NONE };
    /// What servers have to be asked before they can be listed for these clients. In sessions, roots are only told on
    /// connections of one client.
    #[must_use]
    pub fn prepared(self) -> Self {
        match self.era {
            Era::Session => ClientProfile { abilities: self.abilities.shared(), ..self },
            Era::Stateless => ClientProfile { abilities: self.abilities.listed(), ..self },
        }
    }

    /// The profile of the user at a terminal, for whom the command line lists and calls.
    pub const TERMINAL: ClientProfile =
        ClientProfile { era: Era::Session, abilities: Abilities { form: true, url: true, ..Abilities::NONE } };
    /// The profile of stateless clients. Their servers learn what they can be asked from each request.
    pub const STATELESS: ClientProfile = ClientProfile { era: Era::Stateless, abilities: Abilities::NONE };
}

impl Default for ClientProfile {
    fn default() -> Self {
        ClientProfile::SESSION
    }
}
