//! Authentication: maps the bearer token of a request to a principal.

use ::http::HeaderMap;
use ::http::header::AUTHORIZATION;
use subtle::ConstantTimeEq;

use crate::config::Token;
use crate::model::{Principal, Realm, Secret, Who};

/// The accepted tokens and their principals. Without tokens, every request is anonymous.
#[derive(Clone, Debug)]
pub struct Identity {
    tokens: Vec<(Secret, Principal)>,
    /// The principal of anonymous requests, created once because it is cloned for each of them.
    anonymous: Principal,
}

impl Identity {
    pub fn new(tokens: &[Token]) -> Self {
        let tokens = tokens.iter().map(|token| (token.token.clone(), token.principal())).collect();
        Identity { tokens, anonymous: Principal::anonymous() }
    }

    /// Whether a request can authenticate as this user.
    pub(crate) fn accepts(&self, who: &Who) -> bool {
        if self.tokens.is_empty() {
            who.realm == Realm::Anonymous
        } else {
            self.tokens.iter().any(|(_, accepted)| accepted.who == *who)
        }
    }

    /// The principal with this `sub` among the tokens, or else a principal that has only this name.
    pub fn named(&self, sub: &str) -> Principal {
        let found = self.tokens.iter().find(|(_, principal)| principal.sub() == sub);
        found.map_or_else(|| Principal::named(sub), |(_, principal)| principal.clone())
    }

    /// The operating-system user who started the proxy, for the stdio front.
    pub fn local_user(variables: &[(String, String)]) -> Principal {
        let name = variables.iter().find(|(name, _)| name == "USER" || name == "LOGNAME").map(|(_, value)| value);
        Principal::local(name.map_or("local", String::as_str))
    }

    /// The principal of a request; `None` if the request has no valid token and tokens are required.
    pub(crate) fn of(&self, headers: &HeaderMap) -> Option<Principal> {
        if self.tokens.is_empty() {
            return Some(self.anonymous.clone());
        }
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (value, None) = (values.next()?.to_str().ok()?, values.next()) else { return None };
        let (scheme, credentials) = value.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let credentials = credentials.trim().as_bytes();
        // Every token is compared, each in constant time, so that the duration reveals nothing about the tokens.
        let mut found = None;
        for (token, principal) in &self.tokens {
            if bool::from(token.reveal().as_bytes().ct_eq(credentials)) {
                found = Some(principal.clone());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_accepted_bearer_token_has_a_principal() {
        let identity = Identity {
            tokens: vec![
                (Secret::new("s3cret"), Principal::named("ann")),
                (Secret::new("other"), Principal::named("bob")),
            ],
            anonymous: Principal::anonymous(),
        };
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            identity.of(&headers).map(|principal| principal.sub().to_owned())
        };
        assert_eq!(of("Bearer s3cret").as_deref(), Some("ann"));
        assert_eq!(of("bearer other").as_deref(), Some("bob"));
        assert_eq!(of("Bearer wrong"), None);
        assert_eq!(of("Basic s3cret"), None);
        assert_eq!(identity.of(&HeaderMap::new()), None);
    }
}
