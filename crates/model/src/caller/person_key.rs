//! Identifies the caller of a server with a connection for each person.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::{Principal, Realm, Who};

/// A person who is known, with everything that is known of the rights of the person's token. A token is shown for requests of
/// the same key only, and a connection to a server, and what the server lists on it, belongs to one key.
#[derive(Clone, Debug)]
pub struct PersonKey(Arc<Known>);

#[derive(Debug)]
struct Known {
    principal: Principal,
    /// The person alone, whom every call of an own account asks for; `None` if this is it.
    alone: Option<PersonKey>,
}

impl PartialEq for PersonKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.principal == other.0.principal
    }
}

impl Eq for PersonKey {}

impl Hash for PersonKey {
    /// Few keys are of the same person.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.who().hash(state);
    }
}

impl PersonKey {
    fn new(principal: Principal) -> Self {
        let alone = Principal::of(principal.who.realm.clone(), &principal.who.sub);
        let alone = PersonKey(Arc::new(Known { principal: alone, alone: None }));
        PersonKey(Arc::new(Known { principal, alone: Some(alone) }))
    }

    /// For the local user, or a principal whose token was verified. `None` for callers who have shown no token over the
    /// network: nobody has said who they are.
    pub fn of(principal: &Principal) -> Option<Self> {
        match principal.who.realm {
            // What a server lists for a person does not depend on the profile: that shows a part of it.
            Realm::Issuer(_) | Realm::Static | Realm::Local => Some(PersonKey::new(principal.clone().in_profile(None))),
            Realm::Anonymous => None,
        }
    }

    /// The same person whatever the token says beside who it is: an account elsewhere belongs to the person alone.
    pub fn person_alone(&self) -> &Self {
        self.0.alone.as_ref().unwrap_or(self)
    }

    pub fn principal(&self) -> &Principal {
        &self.0.principal
    }

    /// The issuer of the person's token; empty for a token of the config.
    pub fn issuer(&self) -> &str {
        self.0.principal.issuer()
    }

    pub fn who(&self) -> &Who {
        &self.0.principal.who
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
