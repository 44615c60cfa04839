//! Verifies tokens.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::claims::{self, Checked, Demands};
use super::error::TokenError;
use super::introspection::introspect;
use super::introspection_queue::IntrospectionQueue;
use super::issuer::Issuer;
use super::jwt::{self, Jwt};
use super::keys::{IssuerKeys, KeySource};
use super::resource::Resource;
use super::token_cache::{TokenCache, TokenDigest, digest};
use super::user::user;
use proxy_config::{Authentication, Introspection, IssuerConfig};
use proxy_model::operator_api::IssuerStatus;
use proxy_model::{Principal, Realm};
use proxy_wire::http::Fetcher;

const UNKNOWN_ISSUER: TokenError = TokenError::Invalid("the issuer of the token is not accepted");

/// How long a token waits for its turn to be introspected.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an issuer is not asked again about a token that is not active.
const REFUSED_FOR: Duration = Duration::from_secs(10);
/// How long a stream goes on without asking the issuer about its opaque token again.
const MAX_UNASKED: Duration = Duration::from_secs(10 * 60);

/// A token that was accepted.
#[derive(Clone, Debug)]
pub struct VerifiedToken {
    pub principal: Principal,
    /// When it expires, including the allowed clock skew. `None` if unknown.
    pub expires: Option<SystemTime>,
    /// When it expires without clock skew, as other servers see it.
    pub ends: Option<SystemTime>,
    /// The profiles for which alone it is; `None` if it is for the whole proxy.
    profiles: Option<Arc<[String]>>,
    /// The generation of the issuer's keys that verified it; `None` if it was introspected.
    keys: Option<u64>,
}

impl VerifiedToken {
    /// Whether the token is for a profile, or for the top level if the name is empty.
    pub fn is_for(&self, profile: &str) -> bool {
        self.profiles.as_ref().is_none_or(|profiles| profiles.iter().any(|own| own == profile))
    }
}

/// Verifies the tokens of all issuers of one config. A changed config gets a new verifier, so that no token stays accepted
/// under old rules.
#[derive(Debug)]
pub struct TokenVerifier {
    issuers: Vec<Issuer>,
    resource: Resource,
    fetcher: Arc<Fetcher>,
    verified: TokenCache<VerifiedToken>,
    /// Opaque tokens that no issuer accepts. Cached separately, so that they cannot displace accepted tokens.
    refused: TokenCache<TokenError>,
    queue: IntrospectionQueue,
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
            let source = KeySource::from(config);
            let known = before.into_iter().flat_map(|before| &before.issuers);
            let known = known.into_iter().find(|issuer| issuer.keys.is_for(&config.issuer, &source));
            let (keys, notices) = match known {
                Some(known) => (Arc::clone(&known.keys), Arc::clone(&known.notices)),
                None => (IssuerKeys::follow(&config.issuer, source, &fetcher), Arc::default()),
            };
            Issuer { config: config.clone(), keys, notices }
        };
        let issuers = authentication.issuers.iter().map(issuer).collect();
        Some(Arc::new(TokenVerifier {
            issuers,
            resource: resource.clone(),
            fetcher,
            verified: TokenCache::default(),
            refused: TokenCache::default(),
            queue: IntrospectionQueue::default(),
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

    /// Whether a token is opaque: only its issuer can validate it, and it could be guessed.
    pub fn is_opaque(token: &str) -> bool {
        !Jwt::is_one(token)
    }

    /// Verifies a token that somebody at this address has shown.
    pub async fn verify(&self, token: &str, peer: Option<IpAddr>) -> Result<Arc<VerifiedToken>, TokenError> {
        if token.len() > jwt::MAX_BYTES {
            return Err(TokenError::Invalid("the token is too large"));
        }
        if Jwt::is_one(token) {
            return self.verify_jwt(token).await;
        }
        let asked = self.asked_about(token);
        if asked.is_empty() {
            return Err(TokenError::Invalid("the token is not a JWT"));
        }
        let digest = digest(token);
        self.refused_before(&digest)?;
        let verified = self.verify_opaque(&asked, token, digest, peer).await;
        if let Err(invalid @ TokenError::Invalid(_)) = &verified {
            self.verified.forget(&digest);
            self.refused.insert(digest, Arc::new(invalid.clone()), SystemTime::now() + REFUSED_FOR);
        }
        verified
    }

    /// Fails if no issuer accepted the token just now.
    fn refused_before(&self, digest: &TokenDigest) -> Result<(), TokenError> {
        match self.refused.get(digest, SystemTime::now()) {
            Some(refused) => Err(TokenError::clone(&refused)),
            None => Ok(()),
        }
    }

    /// The issuers that may know an opaque token: those whose prefix it has, or else those without one.
    fn asked_about(&self, token: &str) -> Vec<(&Issuer, &Introspection)> {
        let issuers = self.issuers.iter().filter_map(|issuer| Some((issuer, issuer.config.introspection.as_ref()?)));
        let (prefixed, others): (Vec<_>, Vec<_>) = issuers.partition(|(_, settings)| settings.prefix.is_some());
        let has_prefix = |settings: &Introspection| {
            settings.prefix.as_ref().is_some_and(|prefix| token.starts_with(prefix.as_str()))
        };
        let prefixed: Vec<_> = prefixed.into_iter().filter(|(_, settings)| has_prefix(settings)).collect();
        if prefixed.is_empty() { others } else { prefixed }
    }

    /// Asks the issuers in turn until one says that the token is active.
    async fn verify_opaque(
        &self,
        asked: &[(&Issuer, &Introspection)],
        token: &str,
        digest: TokenDigest,
        peer: Option<IpAddr>,
    ) -> Result<Arc<VerifiedToken>, TokenError> {
        let place = self.queue.wait(peer, self.verified.has_seen(&digest));
        let Ok(_place) = tokio::time::timeout(QUEUE_TIMEOUT, place).await else {
            return Err(TokenError::Unavailable { retry_after: QUEUE_TIMEOUT });
        };
        // Somebody may have asked meanwhile.
        self.refused_before(&digest)?;
        if let Some(verified) = self.known_digest(&digest) {
            return Ok(verified);
        }
        let mut reason = TokenError::Invalid("the token is not active");
        for (issuer, settings) in asked {
            match self.ask(issuer, settings, token, digest).await {
                Ok(verified) => return Ok(verified),
                // It may be a token of the issuer that does not answer.
                Err(unavailable @ TokenError::Unavailable { .. }) => reason = unavailable,
                Err(invalid) if matches!(reason, TokenError::Invalid(_)) => reason = invalid,
                Err(_) => {}
            }
        }
        Err(reason)
    }

    async fn verify_jwt(&self, token: &str) -> Result<Arc<VerifiedToken>, TokenError> {
        let jwt = Jwt::parse(token)?;
        let named = jwt.claims.get("iss").and_then(Value::as_str);
        let issuer = named.and_then(|named| self.issuer(named)).ok_or(UNKNOWN_ISSUER)?;
        if !issuer.config.algorithms.contains(&jwt.algorithm) {
            return Err(TokenError::Invalid("the algorithm of the token is not accepted"));
        }
        // Claims first: an expired token is no reason to ask the issuer for keys.
        let Checked { expires, profiles } =
            claims::check(&jwt.claims, &issuer.config, &self.resource, Demands::JWT, SystemTime::now())?;
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
        let verified = Arc::new(VerifiedToken { principal, expires, ends, profiles, keys: Some(generation) });
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
        digest: TokenDigest,
    ) -> Result<Arc<VerifiedToken>, TokenError> {
        let found = introspect(&self.fetcher, &issuer.config, settings, token).await?;
        let demands = Demands { issuer: false, audience: settings.require_audience, expiry: false };
        let now = SystemTime::now();
        let Checked { expires, profiles } = claims::check(&found, &issuer.config, &self.resource, demands, now)?;
        let principal = user(&found, &issuer.config, &issuer.notices);
        // The issuer may revoke the token before it expires, so streams end earlier and are opened again.
        let asked_again = now + MAX_UNASKED;
        let stream_end = expires.map_or(asked_again, |expires| expires.min(asked_again));
        let ends = stream_end.checked_sub(issuer.config.clock_skew);
        let verified = Arc::new(VerifiedToken { principal, expires: Some(stream_end), ends, profiles, keys: None });
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
    pub fn report(&self) -> Vec<IssuerStatus> {
        self.issuers.iter().map(Issuer::report).collect()
    }
}
