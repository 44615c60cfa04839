//! Authentication: maps the bearer token of a request to a principal.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ::http::HeaderMap;
use ::http::header::AUTHORIZATION;
use subtle::ConstantTimeEq;

use proxy_config::Authentication;
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

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AuthFailure {
    NoToken,
    /// The header is no valid one.
    Malformed(&'static str),
    Invalid(&'static str),
    /// The token lacks one of the scopes that every token must have.
    LacksRequiredScope,
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
        let realm = &caller.principal.who.realm;
        let settings = |verifier: &'_ Option<Arc<TokenVerifier>>| {
            verifier.as_ref().and_then(|verifier| verifier.settings_of(realm).cloned())
        };
        let required = &self.authentication.required_scopes;
        let has_scopes =
            caller.verifier.is_none() || required.iter().all(|scope| caller.principal.scopes.contains(scope));
        self.accepts(&caller.principal.who) && settings(&self.verifier) == settings(&caller.verifier) && has_scopes
    }

    /// The operating-system user who started the proxy, for the stdio front.
    pub fn local_user(variables: &[(String, String)]) -> Principal {
        let name = variables.iter().find(|(name, _)| name == "USER" || name == "LOGNAME").map(|(_, value)| value);
        Principal::local(name.map_or("local", String::as_str))
    }

    /// Who sends a request, as far as that is known without asking an issuer. Costs no more than a digest for a token that
    /// was verified before.
    pub(super) fn look(&self, headers: &HeaderMap) -> FirstLook {
        if self.authentication.is_empty() {
            return FirstLook::Done(Ok(Caller::new(self.anonymous.clone())));
        }
        let token = match bearer_token(headers) {
            Ok(Some(token)) => token,
            Ok(None) if self.authentication.allow_anonymous => {
                return FirstLook::Done(Ok(Caller::new(self.anonymous.clone())));
            }
            Ok(None) => return FirstLook::Done(Err(AuthFailure::NoToken)),
            Err(failure) => return FirstLook::Done(Err(failure)),
        };
        if let Some(principal) = self.static_user(token) {
            return FirstLook::Done(Ok(Caller::new(principal)));
        }
        if token.is_empty() || token.bytes().any(|byte| byte.is_ascii_whitespace()) {
            return FirstLook::Done(Err(AuthFailure::Malformed("the Authorization header has no valid bearer token")));
        }
        match &self.verifier {
            None => FirstLook::Done(Err(AuthFailure::Invalid("the token is not accepted"))),
            Some(verifier) => match verifier.known(token) {
                Some(verified) => FirstLook::Done(self.verified(verifier, token, &verified)),
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
    ) -> Result<Caller, AuthFailure> {
        let caller = self.admitted(by, verified)?;
        // What was verified by rules that hold no longer is shown again.
        if self.verifier.as_ref().is_some_and(|now| Arc::ptr_eq(now, by)) {
            self.subject_tokens.show(&verified.principal, token, verified.ends);
        }
        Ok(caller)
    }

    /// The same for a token that is shown to nobody else.
    pub(super) fn admitted(&self, by: &Arc<TokenVerifier>, verified: &VerifiedToken) -> Result<Caller, AuthFailure> {
        let has = |scope: &String| verified.principal.scopes.contains(scope);
        if !self.authentication.required_scopes.iter().all(has) {
            return Err(AuthFailure::LacksRequiredScope);
        }
        let (principal, expires) = (verified.principal.clone(), verified.expires);
        Ok(Caller { principal, expires, verifier: Some(Arc::clone(by)) })
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
        match authenticator.look(&headers) {
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
