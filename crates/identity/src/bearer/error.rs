//! Why a token is not accepted.

use std::time::Duration;

/// The texts are shown to clients: they never contain anything of the token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is invalid.
    #[error("{0}")]
    Invalid(&'static str),
    /// It cannot be checked now, because its issuer does not answer.
    #[error("the issuer of the token does not answer")]
    Unavailable { retry_after: Duration },
}
