//! Verifies tokens.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tokio::sync::Semaphore;

use super::claims::{self, Demands};
use super::error::TokenError;
use super::introspection::introspect;
use super::issuer::Issuer;
use super::jwt::{self, Jwt};
use super::keys::IssuerKeys;
use super::resource::Resource;
use super::token_cache::{TokenCache, TokenDigest, digest};
use super::user::user;
use crate::config::{Authentication, Introspection, IssuerConfig};
use crate::model::{Principal, Realm};
use crate::wire::http::Fetcher;

/// How many questions about tokens an issuer gets at once.
const MAX_QUESTIONS: usize = 16;

const UNKNOWN_ISSUER: TokenError = TokenError::Invalid("the issuer of the token is not accepted");

/// How long a token waits for its turn to be introspected.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a stream goes on without asking the issuer about its opaque token again.
const MAX_UNASKED: Duration = Duration::from_secs(10 * 60);

/// A token that was accepted.
#[derive(Clone, Debug)]
pub struct VerifiedToken {
    pub principal: Principal,
    /// Until when it counts, the difference of the clocks included. `None` if nobody says.
    pub expires: Option<SystemTime>,
    /// When it ends for everybody else, to whom the clocks say the same.
    pub ends: Option<SystemTime>,
    /// Which keys of the issuer have checked it; `None` if the issuer itself has.
    keys: Option<u64>,
}

/// Verifies the tokens of all issuers of one config. A changed config gets a new one, so that nothing which was accepted by
/// other rules is remembered.
#[derive(Debug)]
pub struct TokenVerifier {
    issuers: Vec<Issuer>,
    resource: Resource,
    fetcher: Arc<Fetcher>,
    verified: TokenCache<VerifiedToken>,
    questions: Semaphore,
}

impl TokenVerifier {
    /// `before` is the verifier of the config before, whose keys are still good. `None` if there are no issuers.
    pub fn new(
        authentication: &Authentication,
        resource: &Resource,
        before: Option<&TokenVerifier>,
    ) -> Option<Arc<Self>> {
        if authentication.issuers.is_empty() {
            return None;
        }
        let fetcher = before.map_or_else(Arc::default, |before| Arc::clone(&before.fetcher));
        let issuer = |config: &IssuerConfig| {
            let url = config.jwks_url.as_deref();
            let known = before.into_iter().flat_map(|before| &before.issuers);
            let known = known.into_iter().find(|issuer| issuer.keys.is_for(&config.issuer, url));
            let (keys, notices) = match known {
                Some(known) => (Arc::clone(&known.keys), Arc::clone(&known.notices)),
                None => (IssuerKeys::follow(&config.issuer, url, &fetcher), Arc::default()),
            };
            Issuer { config: config.clone(), keys, notices }
        };
        let issuers = authentication.issuers.iter().map(issuer).collect();
        Some(Arc::new(TokenVerifier {
            issuers,
            resource: resource.clone(),
            fetcher,
            verified: TokenCache::default(),
            questions: Semaphore::new(MAX_QUESTIONS),
        }))
    }

    /// A token that was verified before and still counts.
    pub fn known(&self, token: &str) -> Option<Arc<VerifiedToken>> {
        self.known_digest(&digest(token))
    }

    fn known_digest(&self, digest: &TokenDigest) -> Option<Arc<VerifiedToken>> {
        let verified = self.verified.get(digest, SystemTime::now())?;
        // With other keys it has to be checked again: the one that signed it may have been withdrawn.
        let issuer = self.issuer(verified.principal.issuer())?;
        verified.keys.is_none_or(|keys| keys == issuer.keys.generation()).then_some(verified)
    }

    pub async fn verify(&self, token: &str) -> Result<Arc<VerifiedToken>, TokenError> {
        if token.len() > jwt::MAX_BYTES {
            return Err(TokenError::Invalid("the token is too large"));
        }
        if Jwt::is_one(token) {
            return self.verify_jwt(token).await;
        }
        let asked = self.issuers.iter().find_map(|issuer| Some((issuer, issuer.config.introspection.as_ref()?)));
        match asked {
            Some((issuer, settings)) => self.ask(issuer, settings, token).await,
            None => Err(TokenError::Invalid("the token is not a JWT")),
        }
    }

    async fn verify_jwt(&self, token: &str) -> Result<Arc<VerifiedToken>, TokenError> {
        let jwt = Jwt::parse(token)?;
        let named = jwt.claims.get("iss").and_then(Value::as_str);
        let issuer = named.and_then(|named| self.issuer(named)).ok_or(UNKNOWN_ISSUER)?;
        if !issuer.config.algorithms.contains(&jwt.algorithm) {
            return Err(TokenError::Invalid("the algorithm of the token is not accepted"));
        }
        // Claims first: an expired token is no reason to ask the issuer for keys.
        let expires = claims::check(&jwt.claims, &issuer.config, &self.resource, Demands::JWT, SystemTime::now())?;
        // Before the keys are taken: if they change now, the token is checked again.
        let generation = issuer.keys.generation();
        let keys = issuer.keys.for_token(&jwt).await?;
        if !keys.fits(&jwt) {
            return Err(TokenError::Invalid("the key of the token is unknown"));
        }
        if !keys.has_signed(&jwt) {
            return Err(TokenError::Invalid("the signature of the token is wrong"));
        }
        let principal = user(&jwt.claims, &issuer.config, &issuer.notices);
        let ends = expires.and_then(|expires| expires.checked_sub(issuer.config.clock_skew));
        let verified = Arc::new(VerifiedToken { principal, expires, ends, keys: Some(generation) });
        if let Some(expires) = expires {
            self.verified.insert(digest(token), Arc::clone(&verified), expires);
        }
        Ok(verified)
    }

    async fn ask(
        &self,
        issuer: &Issuer,
        settings: &Introspection,
        token: &str,
    ) -> Result<Arc<VerifiedToken>, TokenError> {
        let busy = TokenError::Unavailable { retry_after: QUESTION_TIMEOUT };
        let permit = tokio::time::timeout(QUESTION_TIMEOUT, self.questions.acquire()).await;
        let Ok(_permit) = permit else { return Err(busy) };
        let digest = digest(token);
        // Somebody may have asked meanwhile.
        if let Some(verified) = self.known_digest(&digest) {
            return Ok(verified);
        }
        let found = introspect(&self.fetcher, &issuer.config, settings, token).await?;
        let demands = Demands { issuer: false, audience: settings.require_audience, expiry: false };
        let now = SystemTime::now();
        let expires = claims::check(&found, &issuer.config, &self.resource, demands, now)?;
        let principal = user(&found, &issuer.config, &issuer.notices);
        // The issuer may revoke the token before it expires, so streams end earlier and are opened again.
        let asked_again = now + MAX_UNASKED;
        let stream_end = expires.map_or(asked_again, |expires| expires.min(asked_again));
        let ends = stream_end.checked_sub(issuer.config.clock_skew);
        let verified = Arc::new(VerifiedToken { principal, expires: Some(stream_end), ends, keys: None });
        let until = now + settings.cache;
        let until = expires.map_or(until, |expires| expires.min(until));
        self.verified.insert(digest, Arc::clone(&verified), until);
        Ok(verified)
    }

    fn issuer(&self, named: &str) -> Option<&Issuer> {
        self.issuers.iter().find(|issuer| issuer.config.issuer == named)
    }

    /// The issuer of a realm, if its tokens are accepted.
    pub fn settings_of(&self, realm: &Realm) -> Option<&IssuerConfig> {
        match realm {
            Realm::Issuer(named) => self.issuer(named).map(|issuer| &issuer.config),
            Realm::Anonymous | Realm::Local | Realm::Static => None,
        }
    }

    /// The state of each issuer, for `proxy status`.
    pub fn report(&self) -> Vec<Value> {
        self.issuers.iter().map(Issuer::report).collect()
    }
}
