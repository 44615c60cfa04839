//! Identifies the caller of a server with a connection for each person.

use std::sync::Arc;

use crate::{Principal, Realm, Who};

/// A person who is known, with everything that is known of the rights of the person's token. A token is shown for requests of
/// the same key only, and a connection to a server, and what the server lists on it, belongs to one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PersonKey(Arc<Principal>);

impl PersonKey {
    /// For the local user, or a principal whose token was verified. `None` for callers who have shown no token over the
    /// network: nobody has said who they are.
    pub fn of(principal: &Principal) -> Option<Self> {
        match principal.who.realm {
            // What a server lists for a person does not depend on the profile: that shows a part of it.
            Realm::Issuer(_) | Realm::Static | Realm::Local => {
                Some(PersonKey(Arc::new(principal.clone().in_profile(None))))
            }
            Realm::Anonymous => None,
        }
    }

    /// The same person whatever the token says beside who it is: an account elsewhere belongs to the person alone.
    #[must_use]
    pub fn person_alone(&self) -> Self {
        PersonKey(Arc::new(Principal::of(self.0.who.realm.clone(), &self.0.who.sub)))
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
    fn who_says_nothing_is_nobody() {
        assert_eq!(PersonKey::of(&Principal::anonymous()), None);
        assert!(PersonKey::of(&Principal::local("ann")).is_some());
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
        assert_eq!(key(&ann), key(&ann.clone().in_profile(Some("research".into()))));
        let other = ann.clone().with(|user| (user.client_id, user.rights) = ("cli".into(), "0a".into()));
        assert_eq!(key(&ann).person_alone(), key(&other).person_alone());
        let elsewhere = Principal::of(Realm::Issuer("https://b".into()), "ann");
        assert_ne!(key(&ann).person_alone(), key(&elsewhere).person_alone());
    }
}
