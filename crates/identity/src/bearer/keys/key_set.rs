//! The keys of an issuer. A key that cannot be used is skipped: the others are as good without it.

use jsonwebtoken::DecodingKey;
use jsonwebtoken::crypto::verify;
use serde_json::Value;

use crate::bearer::jwt::Jwt;
use proxy_config::Algorithm;

/// The most keys of one issuer.
const MAX_KEYS: usize = 100;
/// The most keys that are tried for a token that does not name its key.
const MAX_TRIED: usize = 8;

#[derive(Debug)]
struct VerificationKey {
    id: Option<String>,
    kind: KeyKind,
    /// The only algorithm it may be used with, if it says so.
    algorithm: Option<Algorithm>,
    key: DecodingKey,
}

/// What decides with which algorithms a key can be used at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyKind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

#[derive(Debug, Default)]
pub(in crate::bearer) struct KeySet(Vec<VerificationKey>);

impl KeySet {
    /// Reads a JWK set; `None` if it is something else.
    pub(in crate::bearer) fn parse(document: &Value) -> Option<Self> {
        let keys = document.get("keys")?.as_array()?;
        Some(KeySet(keys.iter().take(MAX_KEYS).filter_map(VerificationKey::parse).collect()))
    }

    pub(in crate::bearer) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether one of the keys could have signed a token.
    pub(in crate::bearer) fn fits(&self, jwt: &Jwt<'_>) -> bool {
        self.candidates(jwt).next().is_some()
    }

    /// Whether one of the keys has signed a token.
    pub(in crate::bearer) fn has_signed(&self, jwt: &Jwt<'_>) -> bool {
        let algorithm = for_signature(jwt.algorithm);
        let is_signed =
            |key: &VerificationKey| verify(jwt.signature, jwt.message.as_bytes(), &key.key, algorithm).unwrap_or(false);
        self.candidates(jwt).take(MAX_TRIED).any(is_signed)
    }

    fn candidates<'a>(&'a self, jwt: &'a Jwt<'_>) -> impl Iterator<Item = &'a VerificationKey> {
        self.0.iter().filter(|key| {
            let is_named = jwt.key_id.is_none() || key.id == jwt.key_id;
            is_named && key.kind.fits(jwt.algorithm) && key.algorithm.is_none_or(|only| only == jwt.algorithm)
        })
    }
}

impl VerificationKey {
    fn parse(jwk: &Value) -> Option<Self> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        // A key for encryption, or one that only signs, checks nothing.
        if jwk.get("use").is_some_and(|purpose| purpose.as_str() != Some("sig")) {
            return None;
        }
        if let Some(operations) = jwk.get("key_ops")
            && !operations.as_array()?.iter().any(|operation| operation.as_str() == Some("verify"))
        {
            return None;
        }
        let algorithm = match jwk.get("alg") {
            None => None,
            Some(name) => Some(Algorithm::parse(name.as_str()?)?),
        };
        // Never `oct`: whoever can check such a token can make one.
        let (kind, key) = match (text("kty")?, text("crv")) {
            ("RSA", _) => (KeyKind::Rsa, DecodingKey::from_rsa_components(text("n")?, text("e")?)),
            ("EC", Some("P-256")) => (KeyKind::P256, DecodingKey::from_ec_components(text("x")?, text("y")?)),
            ("EC", Some("P-384")) => (KeyKind::P384, DecodingKey::from_ec_components(text("x")?, text("y")?)),
            ("OKP", Some("Ed25519")) => (KeyKind::Ed25519, DecodingKey::from_ed_components(text("x")?)),
            _ => return None,
        };
        Some(VerificationKey { id: text("kid").map(str::to_owned), kind, algorithm, key: key.ok()? })
    }
}

impl KeyKind {
    fn fits(self, algorithm: Algorithm) -> bool {
        match algorithm {
            Algorithm::Rs256
            | Algorithm::Rs384
            | Algorithm::Rs512
            | Algorithm::Ps256
            | Algorithm::Ps384
            | Algorithm::Ps512 => self == KeyKind::Rsa,
            Algorithm::Es256 => self == KeyKind::P256,
            Algorithm::Es384 => self == KeyKind::P384,
            Algorithm::EdDsa => self == KeyKind::Ed25519,
        }
    }
}

fn for_signature(algorithm: Algorithm) -> jsonwebtoken::Algorithm {
    match algorithm {
        Algorithm::Rs256 => jsonwebtoken::Algorithm::RS256,
        Algorithm::Rs384 => jsonwebtoken::Algorithm::RS384,
        Algorithm::Rs512 => jsonwebtoken::Algorithm::RS512,
        Algorithm::Ps256 => jsonwebtoken::Algorithm::PS256,
        Algorithm::Ps384 => jsonwebtoken::Algorithm::PS384,
        Algorithm::Ps512 => jsonwebtoken::Algorithm::PS512,
        Algorithm::Es256 => jsonwebtoken::Algorithm::ES256,
        Algorithm::Es384 => jsonwebtoken::Algorithm::ES384,
        Algorithm::EdDsa => jsonwebtoken::Algorithm::EdDSA,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usable(jwk: &Value) -> bool {
        KeySet::parse(&json!({"keys": [jwk]})).unwrap().len() == 1
    }

    #[test]
    fn keys_that_check_no_tokens_are_skipped() {
        let ec = json!({"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"});
        assert!(usable(&ec));
        let with = |name: &str, value: Value| {
            let mut changed = ec.clone();
            changed[name] = value;
            usable(&changed)
        };
        assert!(with("use", json!("sig")) && with("key_ops", json!(["verify"])) && with("alg", json!("ES256")));
        assert!(!with("use", json!("enc")) && !with("key_ops", json!(["sign"])) && !with("alg", json!("HS256")));
        assert!(!with("crv", json!("P-521")) && !with("x", json!("not base64!")) && !with("kty", json!("oct")));
        assert!(!usable(&json!({"kty": "oct", "k": "c2VjcmV0"})) && !usable(&json!(7)) && !usable(&json!({})));
        assert!(KeySet::parse(&json!({})).is_none() && KeySet::parse(&json!([])).is_none());
    }

    #[test]
    fn a_key_is_chosen_by_its_id_and_by_what_it_can_check() {
        let keys = KeySet::parse(&json!({"keys": [
            {"kid": "a", "kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"},
            {"kid": "a", "kty": "RSA", "n": "AAAA", "e": "AQAB", "alg": "RS256"},
            {"kid": "b", "kty": "RSA", "n": "AAAA", "e": "AQAB"},
        ]}))
        .unwrap();
        let count = |algorithm, key_id: Option<&str>| {
            let key_id = key_id.map(str::to_owned);
            let jwt = Jwt { algorithm, key_id, claims: serde_json::Map::new(), message: "", signature: "" };
            keys.candidates(&jwt).count()
        };
        assert_eq!(count(Algorithm::Es256, Some("a")), 1);
        assert_eq!(count(Algorithm::Rs256, Some("a")), 1);
        assert_eq!(count(Algorithm::Ps256, Some("a")), 0, "the key says what it is for");
        assert_eq!(count(Algorithm::Rs256, None), 2);
        assert_eq!(count(Algorithm::Es384, None), 0);
        assert_eq!(count(Algorithm::Rs256, Some("c")), 0);
    }
}
