//! The id of an HTTP session.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use proxy_json::hex;

/// Whoever knows it may use the session, so it is written nowhere.
pub(crate) struct SessionId(String);

impl SessionId {
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut random = [0u8; 16];
        getrandom::fill(&mut random)?;
        Ok(SessionId(hex(&random)))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// What records say instead of the id. It is the same for all requests of the session.
    pub(super) fn digest(&self) -> Arc<str> {
        hex(&Sha256::digest(&self.0)[..8]).into()
    }
}

impl std::fmt::Debug for SessionId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SessionId({})", self.digest())
    }
}
