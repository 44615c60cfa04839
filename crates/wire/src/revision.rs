//! The revisions of the protocol. Those before 2026-07-28 have sessions; later ones are stateless.

use proxy_json::RawRef;
use proxy_model::Era;

/// A revision of the protocol, oldest first, so that they compare by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Revision {
    /// All supported revisions, newest first, as `server/discover` and version errors list them.
    pub const SUPPORTED: [Revision; 5] = [
        Revision::V2026_07_28,
        Revision::V2025_11_25,
        Revision::V2025_06_18,
        Revision::V2025_03_26,
        Revision::V2024_11_05,
    ];
    pub const LATEST: Revision = Revision::V2026_07_28;
    /// The newest revision with sessions.
    pub const LATEST_SESSION: Revision = Revision::V2025_11_25;

    pub fn as_str(self) -> &'static str {
        let quoted = self.as_raw().get();
        &quoted[1..quoted.len() - 1]
    }

    /// The revision as a JSON string.
    pub fn as_raw(self) -> &'static RawRef {
        match self {
            Revision::V2024_11_05 => const { RawRef::string_literal("\"2024-11-05\"") },
            Revision::V2025_03_26 => const { RawRef::string_literal("\"2025-03-26\"") },
            Revision::V2025_06_18 => const { RawRef::string_literal("\"2025-06-18\"") },
            Revision::V2025_11_25 => const { RawRef::string_literal("\"2025-11-25\"") },
            Revision::V2026_07_28 => const { RawRef::string_literal("\"2026-07-28\"") },
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::SUPPORTED.into_iter().find(|revision| revision.as_str() == text)
    }

    /// Whether the revision has no sessions and no handshake.
    pub fn is_stateless(self) -> bool {
        self >= Revision::V2026_07_28
    }

    pub fn era(self) -> Era {
        if self.is_stateless() { Era::Stateless } else { Era::Session }
    }

    /// The revision that answers an `initialize` request for `requested`.
    pub fn negotiate(requested: &str) -> Self {
        match Self::parse(requested) {
            Some(revision) if !revision.is_stateless() => revision,
            _ => Self::LATEST_SESSION,
        }
    }

    pub fn supported_names() -> Vec<&'static str> {
        Self::SUPPORTED.iter().map(|revision| revision.as_str()).collect()
    }
}
