//! What the proxy says of a caller to a server behind it: a JSON Web Token that it signs itself (`auth: {type: signed}`). The
//! caller's own token never goes along. Another proxy accepts it as that of one more issuer.

use std::fmt;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::{BoxFuture, FutureExt};
use http::HeaderValue;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::oauth::bearer;
use proxy_config::SignedConfig;
use proxy_model::{
    AuthorizationRefusal, CallerCredentials, Credentials, LoginNeeded, PersonKey, Principal, Remedy, Secret,
};

/// How long a token counts, and how long it is shown.
const LIFETIME: Duration = Duration::from_secs(60);
const SHOWN_FOR: Duration = Duration::from_secs(30);

/// The beginning of a PKCS #8 document with the seed of an Ed25519 key (RFC 8410, 7).
const PKCS8_PREFIX: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// The key with which the proxy signs who its callers are.
#[derive(Clone)]
pub struct IdentityKey {
    signing: EncodingKey,
    /// The public key.
    public: [u8; 32],
    id: String,
}

impl fmt::Debug for IdentityKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "IdentityKey({})", self.id)
    }
}

impl IdentityKey {
    /// The key that `serve.identityKey` stands for, the same in every process with it. `None` if the text cannot be a key,
    /// which a config without errors rules out.
    pub fn of(secret: &Secret) -> Option<Self> {
        // Hashing uses the whole entropy of a key, whatever its length and alphabet.
        let seed = Sha256::digest([b"proxy identity key\n", secret.reveal().as_bytes()].concat());
        let pair = aws_lc_rs::signature::Ed25519KeyPair::from_seed_unchecked(&seed).ok()?;
        let public = aws_lc_rs::signature::KeyPair::public_key(&pair).as_ref().try_into().ok()?;
        let pkcs8 = [&PKCS8_PREFIX[..], &seed].concat();
        let id = URL_SAFE_NO_PAD.encode(&Sha256::digest(public)[..12]);
        Some(IdentityKey { signing: EncodingKey::from_ed_der(&pkcs8), public, id })
    }

    /// The JWK set with the public key, for `jwksFile` of the servers.
    pub fn public(&self) -> Value {
        let x = URL_SAFE_NO_PAD.encode(self.public);
        json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": self.id, "x": x}]})
    }

    /// A token that says who a caller is.
    fn token(&self, issuer: &str, audience: &str, principal: &Principal, now: SystemTime) -> Option<Secret> {
        let issued = now.duration_since(UNIX_EPOCH).ok()?.as_secs();
        let mut claims = json!({
            "iss": issuer, "aud": audience, "sub": &*principal.who.sub, "groups": &principal.groups[..],
            "iat": issued, "exp": issued + LIFETIME.as_secs(),
        });
        for (claim, text) in [("email", &principal.email), ("name", &principal.name)] {
            if !text.is_empty() {
                claims[claim] = Value::from(&**text);
            }
        }
        let header =
            Header { kid: Some(self.id.clone()), typ: Some("JWT".to_owned()), ..Header::new(Algorithm::EdDSA) };
        jsonwebtoken::encode(&header, &claims, &self.signing).ok().map(Secret::new)
    }
}

/// What a server is shown for each caller.
#[derive(Debug)]
pub(crate) struct SignedIdentities {
    key: IdentityKey,
    issuer: String,
    /// The URL of the server.
    audience: String,
}

impl SignedIdentities {
    pub(crate) fn new(url: &str, config: &SignedConfig) -> Option<Arc<Self>> {
        let key = IdentityKey::of(&config.key)?;
        Some(Arc::new(SignedIdentities { key, issuer: config.issuer.clone(), audience: url.to_owned() }))
    }
}

/// What the connections of all callers to a server show.
#[derive(Debug)]
pub(crate) struct CallerIdentities(pub(crate) Arc<SignedIdentities>);

impl CallerCredentials for CallerIdentities {
    fn of(&self, person: &PersonKey) -> Option<Arc<dyn Credentials>> {
        let CallerIdentities(identities) = self;
        let principal = person.principal().clone();
        if principal.is_local() {
            // Nobody else vouches for the name of a user of this machine.
            return None;
        }
        Some(Arc::new(SignedCredentials { identities: Arc::clone(identities), principal, shown: Mutex::default() }))
    }
}

/// The credentials of one person's connection.
#[derive(Debug)]
struct SignedCredentials {
    identities: Arc<SignedIdentities>,
    principal: Principal,
    /// The newest token, and when it was made.
    shown: Mutex<Option<(Instant, HeaderValue)>>,
}

impl SignedCredentials {
    fn header(&self) -> Option<HeaderValue> {
        let mut shown = self.shown.lock();
        if let Some((made, header)) = &*shown
            && made.elapsed() < SHOWN_FOR
        {
            return Some(header.clone());
        }
        let SignedIdentities { key, issuer, audience } = &*self.identities;
        let header = bearer(&key.token(issuer, audience, &self.principal, SystemTime::now())?)?;
        *shown = Some((Instant::now(), header.clone()));
        Some(header)
    }
}

impl Credentials for SignedCredentials {
    /// Signing takes some microseconds, twice a minute.
    fn ready(&self) -> Poll<Option<HeaderValue>> {
        Poll::Ready(self.header())
    }

    fn authorization(&self) -> BoxFuture<'_, Result<Option<HeaderValue>, LoginNeeded>> {
        std::future::ready(Ok(self.header())).boxed()
    }

    fn refused(&self, refusal: AuthorizationRefusal) -> BoxFuture<'_, Remedy> {
        let remedy = match refusal.status {
            401 => Remedy::LogIn(LoginNeeded(format!(
                "it refuses the signed identity of the caller: it must accept the issuer `{}` with the keys that `proxy \
                 identity-key` prints, and its `publicUrl` must be the `url` of this server",
                self.identities.issuer
            ))),
            _ => Remedy::None,
        };
        std::future::ready(remedy).boxed()
    }

    /// No other process has anything to do with it.
    fn look_out(&self) {}

    /// Only another config changes it.
    fn changed(&self) -> BoxFuture<'_, ()> {
        std::future::pending().boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> IdentityKey {
        IdentityKey::of(&Secret::new(text)).expect("any text is a key")
    }

    fn decoded(token: &Secret, part: usize) -> Value {
        let text = token.reveal().split('.').nth(part).expect("a token has three parts");
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
    }

    #[test]
    fn every_process_with_a_secret_has_the_same_key() {
        let [one, two] = [0; 2].map(|_| key("a secret that is long enough for a key"));
        assert_eq!(one.public(), two.public());
        assert_ne!(one.public(), key("another secret that is long enough").public());
        assert!(!format!("{one:?} {}", one.public()).contains("secret"));
    }

    #[test]
    fn a_token_says_who_calls_and_nothing_else() {
        let key = key("a secret that is long enough for a key");
        let ann = Principal::named("ann").with(|user| {
            user.groups = vec!["ops".to_owned()].into();
            user.claims = r#"{"team":"a"}"#.into();
            user.email = "ann@example.com".into();
        });
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
        let token = key.token("https://edge/mcp", "https://host/mcp", &ann, now).unwrap();
        assert_eq!(
            decoded(&token, 1),
            json!({"iss": "https://edge/mcp", "aud": "https://host/mcp", "sub": "ann", "groups": ["ops"],
                   "email": "ann@example.com", "iat": 1_000_000, "exp": 1_000_060})
        );
        let header = decoded(&token, 0);
        assert_eq!((&header["alg"], &header["kid"]), (&json!("EdDSA"), &key.public()["keys"][0]["kid"]));
    }

    #[test]
    fn the_public_key_verifies_what_was_signed() {
        let key = key("a secret that is long enough for a key");
        let token = key.token("https://edge", "https://host", &Principal::named("ann"), SystemTime::now()).unwrap();
        let (message, signature) = token.reveal().rsplit_once('.').unwrap();
        let verifying = jsonwebtoken::DecodingKey::from_ed_components(key.public()["keys"][0]["x"].as_str().unwrap());
        let verify = |message: &str| {
            jsonwebtoken::crypto::verify(signature, message.as_bytes(), verifying.as_ref().unwrap(), Algorithm::EdDSA)
        };
        assert_eq!(verify(message).ok(), Some(true));
        assert_ne!(verify(&message.replace('a', "b")).ok(), Some(true));
    }
}
