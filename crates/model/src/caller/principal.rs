//! The user who makes a request: who it is, and what is known about them.

use std::ops::Deref;
use std::sync::Arc;

/// Where a user is known from. Two realms may use the same `sub` for different people.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Realm {
    /// Nobody has said who it is.
    Anonymous,
    /// The operating-system user who runs the proxy: stdio and commands. Needs no authentication.
    Local,
    /// A token of the config.
    Static,
    /// The issuer of the token, as the config and the claim `iss` write it.
    Issuer(Arc<str>),
}

/// Who a user is, and nothing that can change while they stay the same person. Sessions, stored values and sealed handles
/// belong to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Who {
    pub realm: Realm,
    /// The name of the user as scripts see it: with the issuer's prefix.
    pub sub: Arc<str>,
}

/// A user as a request shows them. Equal principals see the same surface; requests with equal [`Who`] come from the same
/// user. Shared, because every step of a request has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    data: Arc<PrincipalData>,
    /// The profile under which the user came; `None` at the top level of the config.
    profile: Option<Arc<str>>,
}

impl Deref for Principal {
    type Target = PrincipalData;

    fn deref(&self) -> &PrincipalData {
        &self.data
    }
}

impl From<PrincipalData> for Principal {
    fn from(data: PrincipalData) -> Self {
        Principal { data: Arc::new(data), profile: None }
    }
}

/// What is known of a user. It holds no claim that differs from token to token, such as the time of expiry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PrincipalData {
    pub who: Who,
    pub email: Arc<str>,
    /// Display name; empty if unknown.
    pub name: Arc<str>,
    pub groups: Arc<[String]>,
    /// Further claims, as the text of a JSON object.
    pub claims: Arc<str>,
    /// The scopes of the token.
    pub scopes: Arc<[String]>,
    /// The client that the issuer gave the token to; empty if it does not say. Scripts do not see it.
    pub client_id: Arc<str>,
    /// A digest of what else in the token says what its holder may do elsewhere; empty if nothing does. Scripts do not see it.
    pub rights: Arc<str>,
}

impl Principal {
    pub fn anonymous() -> Self {
        Principal::of(Realm::Anonymous, "anonymous")
    }

    /// The local user with this name.
    pub fn local(sub: &str) -> Self {
        Principal::of(Realm::Local, sub)
    }

    /// The user of a token in the config.
    pub fn named(sub: &str) -> Self {
        Principal::of(Realm::Static, sub)
    }

    /// A user of whom nothing else is known.
    pub fn of(realm: Realm, sub: &str) -> Self {
        Principal::from(PrincipalData {
            who: Who { realm, sub: sub.into() },
            email: "".into(),
            name: "".into(),
            groups: Arc::new([]),
            claims: "{}".into(),
            scopes: Arc::new([]),
            client_id: "".into(),
            rights: "".into(),
        })
    }

    /// The principal with these changes.
    pub fn with(mut self, change: impl FnOnce(&mut PrincipalData)) -> Self {
        change(Arc::make_mut(&mut self.data));
        self
    }

    /// The same user under a profile, or at the top level. Beside who it is, nothing changes.
    #[must_use]
    pub fn in_profile(self, profile: Option<Arc<str>>) -> Self {
        Principal { profile, ..self }
    }

    /// The name of the profile under which the user came; `None` at the top level.
    pub fn profile(&self) -> Option<&Arc<str>> {
        self.profile.as_ref()
    }

    /// The name of the profile, or an empty text.
    pub fn profile_name(&self) -> &str {
        self.profile.as_deref().unwrap_or_default()
    }

    pub fn sub(&self) -> &str {
        &self.who.sub
    }

    pub fn is_anonymous(&self) -> bool {
        self.who.realm == Realm::Anonymous
    }

    pub fn is_local(&self) -> bool {
        self.who.realm == Realm::Local
    }

    /// The issuer of the user's token; empty if no issuer has said who it is.
    pub fn issuer(&self) -> &str {
        match &self.who.realm {
            Realm::Issuer(issuer) => issuer,
            Realm::Anonymous | Realm::Local | Realm::Static => "",
        }
    }
}
