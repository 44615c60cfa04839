//! Identifies the caller of a server with a connection for each person.

use std::sync::Arc;

use crate::{Principal, Realm, Who};

/// A person whose token was verified, with everything that is known of the rights of the token. A token is shown for
/// requests of the same key only, and a connection to a server, and what the server lists on it, belongs to one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PersonKey(Arc<Principal>);

impl PersonKey {
    /// For a principal whose token was verified. `None` for callers who have shown no token: nobody has said who they are.
    pub fn of(principal: &Principal) -> Option<Self> {
        match principal.who.realm {
            Realm::Issuer(_) | Realm::Static => Some(PersonKey(Arc::new(principal.clone()))),
            Realm::Anonymous | Realm::Local => None,
        }
    }

    pub fn principal(&self) -> &Principal {
        &self.0
    }

    /// The issuer of the person's token; empty for a token of the config.
    pub fn issuer(&self) -> &str {
        self.0.issuer()
    }

    pub fn who(&self) -> &Who {
        &self.0.who
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_token_makes_a_person() {
        for nobody in [Principal::anonymous(), Principal::local("ann")] {
            assert_eq!(PersonKey::of(&nobody), None);
        }
        assert_eq!(PersonKey::of(&Principal::named("ann")).map(|key| key.issuer().to_owned()).as_deref(), Some(""));
        let ann = Principal::of(Realm::Issuer("https://a".into()), "ann");
        assert_eq!(PersonKey::of(&ann).map(|key| key.issuer().to_owned()).as_deref(), Some("https://a"));
    }

    #[test]
    fn another_issuer_client_scope_group_or_right_is_another_key() {
        let ann = Principal::of(Realm::Issuer("https://a".into()), "ann");
        let key = |principal: &Principal| PersonKey::of(principal).unwrap();
        assert_ne!(key(&ann), key(&Principal::of(Realm::Issuer("https://b".into()), "ann")));
        assert_ne!(key(&ann), key(&ann.clone().with(|user| user.client_id = "cli".into())));
        assert_ne!(key(&ann), key(&ann.clone().with(|user| user.scopes = Arc::new(["read".to_owned()]))));
        assert_ne!(key(&ann), key(&ann.clone().with(|user| user.groups = Arc::new(["ops".to_owned()]))));
        assert_ne!(key(&ann), key(&ann.clone().with(|user| user.rights = "0a".into())));
        assert_eq!(key(&ann), key(&ann.clone()));
    }
}
