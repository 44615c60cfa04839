//! The tokens that a token endpoint issues.

use std::time::Duration;

use http::HeaderValue;

use crate::oauth::unix_time::now;
use proxy_model::Secret;

/// A token is renewed this long before it expires, or a tenth of its lifetime before if that is less.
const RENEW_AHEAD: u64 = 60;

/// What a token endpoint has given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grant {
    pub(crate) access_token: Secret,
    pub(crate) refresh_token: Option<Secret>,
    pub(crate) expires_in: Option<Duration>,
    /// `None` if the answer does not say: then it is what was asked for.
    pub(crate) scopes: Option<Vec<String>>,
}

impl Grant {
    /// In seconds since 1970.
    pub(crate) fn expires_at(&self) -> Option<u64> {
        self.expires_in.map(|lifetime| now().saturating_add(lifetime.as_secs()))
    }
}

/// The value of `Authorization`; `None` for a token that cannot be sent.
pub(crate) fn bearer(access_token: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", access_token.reveal())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// When a token is to be renewed; `None` if it does not expire.
pub(crate) fn renew_at(obtained_at: u64, expires_at: Option<u64>) -> Option<u64> {
    let end = expires_at?;
    let ahead = RENEW_AHEAD.min(end.saturating_sub(obtained_at) / 10);
    Some(end - ahead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_a_minute_or_a_tenth_of_its_lifetime_ahead() {
        let of = |lifetime: u64| renew_at(1000, Some(1000 + lifetime)).unwrap() - 1000;
        assert_eq!((of(3600), of(300), of(10), of(0)), (3540, 270, 9, 0));
        assert_eq!(renew_at(1000, None), None);
    }
}
