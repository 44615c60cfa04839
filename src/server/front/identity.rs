//! Who a client is.

use ::http::HeaderMap;
use ::http::header::AUTHORIZATION;
use serde_json::Value;
use subtle::ConstantTimeEq;

use crate::config::Token;
use crate::json::canonical;
use crate::model::{Principal, Secret};

/// The tokens that are accepted; without any, everybody is anonymous.
#[derive(Clone, Debug)]
pub struct Identity {
    known: Vec<(Secret, Principal)>,
    /// Whoever comes where there are none; made once, because most requests are theirs.
    anonymous: Principal,
}

impl Identity {
    pub fn new(tokens: &[Token]) -> Self {
        let known = tokens
            .iter()
            .map(|token| {
                let principal = Principal {
                    sub: token.sub.as_str().into(),
                    email: token.email.as_str().into(),
                    name: token.name.as_str().into(),
                    groups: token.groups.clone().into(),
                    claims: canonical(&Value::Object(token.claims.clone())).into(),
                    anonymous: false,
                    local: false,
                };
                (token.token.clone(), principal)
            })
            .collect();
        Identity { known, anonymous: Principal::anonymous() }
    }

    /// Whether somebody can still come in as this principal.
    pub(crate) fn knows(&self, principal: &Principal) -> bool {
        if self.known.is_empty() { principal.anonymous } else { self.known.iter().any(|(_, known)| known == principal) }
    }

    /// Somebody by their name: as a token knows them, else with nothing but the name.
    pub fn named(&self, sub: &str) -> Principal {
        let known = self.known.iter().find(|(_, principal)| *principal.sub == *sub);
        known.map_or_else(|| Principal::named(sub), |(_, principal)| principal.clone())
    }

    /// The operating-system user, who started the proxy and speaks to it through its own pipes.
    pub fn local_user(variables: &[(String, String)]) -> Principal {
        let name = variables.iter().find(|(name, _)| name == "USER" || name == "LOGNAME").map(|(_, value)| value);
        Principal { local: true, ..Principal::named(name.map_or("local", String::as_str)) }
    }

    /// The principal of a request; `None` if it must authenticate and does not.
    pub(crate) fn of(&self, headers: &HeaderMap) -> Option<Principal> {
        if self.known.is_empty() {
            return Some(self.anonymous.clone());
        }
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (value, None) = (values.next()?.to_str().ok()?, values.next()) else { return None };
        let (scheme, given) = value.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let given = given.trim().as_bytes();
        // Every token is compared, and each in constant time: the time taken tells nothing about them.
        let mut found = None;
        for (token, principal) in &self.known {
            if bool::from(token.reveal().as_bytes().ct_eq(given)) {
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
    fn only_a_known_bearer_token_has_a_name() {
        let identity = Identity {
            known: vec![
                (Secret::new("s3cret"), Principal::named("ann")),
                (Secret::new("other"), Principal::named("bob")),
            ],
            anonymous: Principal::anonymous(),
        };
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            identity.of(&headers).map(|principal| principal.sub.to_string())
        };
        assert_eq!(of("Bearer s3cret").as_deref(), Some("ann"));
        assert_eq!(of("bearer other").as_deref(), Some("bob"));
        assert_eq!(of("Bearer wrong"), None);
        assert_eq!(of("Basic s3cret"), None);
        assert_eq!(identity.of(&HeaderMap::new()), None);
    }
}
