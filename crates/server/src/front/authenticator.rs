//! Authentication: maps the bearer token of a request to a principal.

use std::iter;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ::http::HeaderMap;
use ::http::header::AUTHORIZATION;
use subtle::ConstantTimeEq;

use proxy_config::{Authentication, ProfileAccess};
use proxy_identity::bearer::{Resource, TokenError, TokenVerifier, VerifiedToken};
use proxy_identity::oauth::SubjectTokens;
use proxy_model::{Principal, Realm, Secret, Who};

/// The accepted tokens and their principals. Without tokens and issuers, every request is anonymous.
#[derive(Clone, Debug)]
pub struct Authenticator {
    pub(super) authentication: Authentication,
    tokens: Vec<(Secret, Principal)>,
    pub(super) verifier: Option<Arc<TokenVerifier>>,
    /// Where the tokens are kept that have to be exchanged.
    pub(super) subject_tokens: Arc<SubjectTokens>,
    /// The principal of anonymous requests, created once because it is cloned for each of them.
    anonymous: Principal,
}

/// Who sends a request.
#[derive(Clone, Debug)]
pub struct Caller {
    pub(crate) principal: Principal,
    /// Until when the token counts; `None` if it does not say.
    pub(crate) expires: Option<SystemTime>,
    /// What has verified the token, if it is one of an issuer.
    pub(super) verifier: Option<Arc<TokenVerifier>>,
}

/// Where a request came in: under a profile, or at the top level.
#[derive(Clone, Debug)]
pub(crate) struct Place(Option<(Arc<str>, Arc<ProfileAccess>)>);

impl Place {
    pub(super) const TOP: Place = Place(None);

    fn access(&self) -> Option<&ProfileAccess> {
        self.0.as_ref().map(|(_, access)| &**access)
    }

    fn profile(&self) -> Option<&Arc<str>> {
        self.0.as_ref().map(|(profile, _)| profile)
    }

    /// The scopes that every token of an issuer must have here, beside those of the top level.
    fn required_scopes(&self) -> &[String] {
        self.access().map_or(&[], |access| &access.required_scopes)
    }

    /// A user who came in here, if it is for them.
    fn admitted(&self, principal: Principal) -> Result<Principal, AuthFailure> {
        let Some((profile, _)) = &self.0 else { return Ok(principal) };
        if !self.is_for(&principal) {
            return Err(AuthFailure::NoProfile);
        }
        Ok(principal.in_profile(Some(Arc::clone(profile))))
    }

    /// Whether the user is in one of the groups for which the profile is.
    fn is_for(&self, principal: &Principal) -> bool {
        let groups = self.access().map_or(&[][..], |access| &access.groups);
        groups.is_empty() || groups.iter().any(|group| principal.groups.contains(group))
    }
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AuthFailure {
    NoToken,
    /// The header is no valid one.
    Malformed(&'static str),
    Invalid(&'static str),
    /// The token lacks one of the scopes that every token must have.
    LacksRequiredScope,
    /// The user is in none of the groups for which the profile is.
    NoProfile,
    /// The token cannot be checked now.
    Unavailable(Duration),
}

/// What is known of a request before an issuer is asked.
#[derive(Debug)]
pub(crate) enum FirstLook {
    Done(Result<Caller, AuthFailure>),
    /// A token that has to be verified.
    Verify(Arc<TokenVerifier>, Secret),
}

impl Authenticator {
    /// `before` is what was accepted until now: the keys of its issuers are still good.
    pub(super) fn new(
        authentication: &Authentication,
        resource: &Resource,
        subject_tokens: &Arc<SubjectTokens>,
        before: Option<&Authenticator>,
    ) -> Self {
        let before = before.and_then(|before| before.verifier.as_deref());
        Authenticator {
            tokens: authentication.tokens.iter().map(|token| (token.token.clone(), token.principal())).collect(),
            verifier: TokenVerifier::new(authentication, resource, before),
            authentication: authentication.clone(),
            subject_tokens: Arc::clone(subject_tokens),
            anonymous: Principal::anonymous(),
        }
    }

    /// Whether a request can authenticate as this user.
    pub(super) fn accepts(&self, who: &Who) -> bool {
        match &who.realm {
            Realm::Anonymous => self.authentication.is_empty() || self.authentication.allow_anonymous,
            Realm::Local => false,
            Realm::Static => self.tokens.iter().any(|(_, accepted)| accepted.who == *who),
            Realm::Issuer(_) => self.verifier.as_ref().is_some_and(|now| now.settings_of(&who.realm).is_some()),
        }
    }

    /// Whether the token of a caller is still judged by the same rules. If not, it has to be shown again.
    pub(super) fn still_accepts(&self, caller: &Caller) -> bool {
        let Some(place) = self.place(caller.principal.profile_name()) else { return false };
        if !place.is_for(&caller.principal) {
            return false;
        }
        let realm = &caller.principal.who.realm;
        let settings = |verifier: &'_ Option<Arc<TokenVerifier>>| {
            verifier.as_ref().and_then(|verifier| verifier.settings_of(realm).cloned())
        };
        let has_scopes = caller.verifier.is_none() || self.has_scopes(&caller.principal, &place);
        self.accepts(&caller.principal.who) && settings(&self.verifier) == settings(&caller.verifier) && has_scopes
    }

    /// The operating-system user who started the proxy, for the stdio front.
    pub fn local_user(variables: &[(String, String)]) -> Principal {
        let name = variables.iter().find(|(name, _)| name == "USER" || name == "LOGNAME").map(|(_, value)| value);
        Principal::local(name.map_or("local", String::as_str))
    }

    /// The place with this name: a profile, or the top level if the name is empty. `None` if nothing is served there.
    pub(super) fn place(&self, name: &str) -> Option<Place> {
        if name.is_empty() {
            return (!self.authentication.requires_profile).then_some(Place::TOP);
        }
        let (profile, access) = self.authentication.profiles.get_key_value(name)?;
        Some(Place(Some((Arc::clone(profile), Arc::clone(access)))))
    }

    /// A user as they come in wherever they may: at the top level, and under each profile that is for them.
    pub(super) fn everywhere(&self, principal: &Principal) -> Vec<Principal> {
        let profiles = self.authentication.profiles.keys().map(|name| &**name);
        let places = iter::once("").chain(profiles).filter_map(|name| self.place(name));
        places.filter_map(|place| place.admitted(principal.clone()).ok()).collect()
    }

    /// The scopes that every token of an issuer must have for a profile, or at the top level if the name is empty.
    pub(super) fn required_scopes(&self, profile: &str) -> Vec<String> {
        let mut scopes = self.authentication.required_scopes.clone();
        let of_profile = self.authentication.profiles.get(profile).map_or(&[][..], |access| &access.required_scopes);
        let more: Vec<String> = of_profile.iter().filter(|scope| !scopes.contains(scope)).cloned().collect();
        scopes.extend(more);
        scopes
    }

    fn has_scopes(&self, principal: &Principal, place: &Place) -> bool {
        let mut required = self.authentication.required_scopes.iter().chain(place.required_scopes());
        required.all(|scope| principal.scopes.contains(scope))
    }

    /// Who sends a request to a place, as far as that is known without asking an issuer. Costs no more than a digest for a
    /// token that was verified before.
    pub(super) fn look(&self, headers: &HeaderMap, place: &Place) -> FirstLook {
        let unverified = |principal: Principal| FirstLook::Done(place.admitted(principal).map(Caller::new));
        if self.authentication.is_empty() {
            return unverified(self.anonymous.clone());
        }
        let token = match bearer_token(headers) {
            Ok(Some(token)) => token,
            Ok(None) if self.authentication.allow_anonymous => return unverified(self.anonymous.clone()),
            Ok(None) => return FirstLook::Done(Err(AuthFailure::NoToken)),
            Err(failure) => return FirstLook::Done(Err(failure)),
        };
        if let Some(principal) = self.static_user(token) {
            return unverified(principal);
        }
        if token.is_empty() || token.bytes().any(|byte| byte.is_ascii_whitespace()) {
            return FirstLook::Done(Err(AuthFailure::Malformed("the Authorization header has no valid bearer token")));
        }
        match &self.verifier {
            None => FirstLook::Done(Err(AuthFailure::Invalid("the token is not accepted"))),
            Some(verifier) => match verifier.known(token) {
                Some(verified) => FirstLook::Done(self.verified(verifier, token, &verified, place)),
                None => FirstLook::Verify(Arc::clone(verifier), Secret::new(token)),
            },
        }
    }

    /// Every token is compared, each in constant time, so that the duration reveals nothing about the tokens.
    fn static_user(&self, credentials: &str) -> Option<Principal> {
        let mut found = None;
        for (token, principal) in &self.tokens {
            if bool::from(token.reveal().as_bytes().ct_eq(credentials.as_bytes())) {
                found = Some(principal.clone());
            }
        }
        found
    }

    /// The caller with a verified token. Only tokens of issuers must have the required scopes.
    pub(super) fn verified(
        &self,
        by: &Arc<TokenVerifier>,
        token: &str,
        verified: &VerifiedToken,
        place: &Place,
    ) -> Result<Caller, AuthFailure> {
        let caller = self.admitted(by, verified, place)?;
        // What was verified by rules that hold no longer is shown again.
        if self.verifier.as_ref().is_some_and(|now| Arc::ptr_eq(now, by)) {
            self.subject_tokens.show(&verified.principal, token, verified.ends);
        }
        Ok(caller)
    }

    /// The same for a token that is shown to nobody else.
    pub(super) fn admitted(
        &self,
        by: &Arc<TokenVerifier>,
        verified: &VerifiedToken,
        place: &Place,
    ) -> Result<Caller, AuthFailure> {
        if !verified.is_for(place.profile().map_or("", |profile| profile)) {
            return Err(AuthFailure::Invalid("the token is for another path of this server (aud)"));
        }
        // Who is in none of the groups is not told what the profile needs.
        let principal = place.admitted(verified.principal.clone())?;
        if !self.has_scopes(&principal, place) {
            return Err(AuthFailure::LacksRequiredScope);
        }
        Ok(Caller { principal, expires: verified.expires, verifier: Some(Arc::clone(by)) })
    }
}

impl Caller {
    fn new(principal: Principal) -> Self {
        Caller { principal, expires: None, verifier: None }
    }
}

impl From<TokenError> for AuthFailure {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Invalid(why) => AuthFailure::Invalid(why),
            TokenError::Unavailable { retry_after } => AuthFailure::Unavailable(retry_after),
        }
    }
}

/// The bearer token of a request; `None` if it has none. A token in the URL or in the body does not count.
fn bearer_token(headers: &HeaderMap) -> Result<Option<&str>, AuthFailure> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(AuthFailure::Malformed("there are several Authorization headers"));
    }
    let malformed = AuthFailure::Malformed("the Authorization header is malformed");
    let value = value.to_str().map_err(|_| malformed.clone())?.trim();
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        None if value.eq_ignore_ascii_case("bearer") => Err(malformed),
        // Another scheme, which says nothing here.
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authenticator(config: &str) -> Authenticator {
        let (config, _) = proxy_config::load_text(std::path::Path::new("proxy.yaml"), config, &|_| None).unwrap();
        Authenticator::new(&config.auth, &Resource::public("https://h/mcp"), &Arc::default(), None)
    }

    fn look(authenticator: &Authenticator, values: &[&str]) -> Result<String, AuthFailure> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, value.parse().unwrap());
        }
        match authenticator.look(&headers, &Place::TOP) {
            FirstLook::Done(outcome) => outcome.map(|caller| caller.principal.sub().to_owned()),
            FirstLook::Verify(..) => panic!("no issuer"),
        }
    }

    const TOKENS: &str = "tokens: [{token: s3cret-s3cret-s3cret, sub: ann}, {token: other-other-other, sub: bob}]";

    #[test]
    fn only_an_accepted_bearer_token_has_a_principal() {
        let authenticator = authenticator(&format!("auth: {{{TOKENS}}}"));
        assert_eq!(look(&authenticator, &["Bearer s3cret-s3cret-s3cret"]).as_deref(), Ok("ann"));
        assert_eq!(look(&authenticator, &["bEARER  other-other-other "]).as_deref(), Ok("bob"));
        assert!(matches!(look(&authenticator, &["Bearer wrong"]), Err(AuthFailure::Invalid(_))));
        assert_eq!(look(&authenticator, &["Basic s3cret-s3cret-s3cret"]), Err(AuthFailure::NoToken));
        assert_eq!(look(&authenticator, &[]), Err(AuthFailure::NoToken));
        for malformed in ["Bearer", "Bearer a b", "bearer "] {
            assert!(matches!(look(&authenticator, &[malformed]), Err(AuthFailure::Malformed(_))), "{malformed}");
        }
        let twice = ["Bearer s3cret-s3cret-s3cret", "Bearer s3cret-s3cret-s3cret"];
        assert!(matches!(look(&authenticator, &twice), Err(AuthFailure::Malformed(_))));
    }

    #[test]
    fn who_shows_nothing_may_be_anonymous_and_who_shows_something_wrong_never_is() {
        let open = authenticator(&format!("auth: {{allowAnonymous: true, {TOKENS}}}"));
        assert_eq!(look(&open, &[]).as_deref(), Ok("anonymous"));
        assert!(matches!(look(&open, &["Bearer wrong"]), Err(AuthFailure::Invalid(_))));
        let whom = |authenticator: &Authenticator, principal: &Principal| authenticator.accepts(&principal.who);
        assert!(whom(&open, &Principal::anonymous()) && whom(&open, &Principal::named("ann")));
        assert!(!whom(&open, &Principal::named("eve")) && !whom(&open, &Principal::local("ann")));
        assert!(!whom(&authenticator(&format!("auth: {{{TOKENS}}}")), &Principal::anonymous()));
        assert!(whom(&authenticator(""), &Principal::anonymous()));
    }
}
