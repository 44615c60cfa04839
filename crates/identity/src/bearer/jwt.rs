//! The parts of a JWT. Nothing in it can be trusted before its signature is checked.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::error::TokenError;
use proxy_config::Algorithm;

/// The largest token that is read.
pub(super) const MAX_BYTES: usize = 16 << 10;
/// The types of access tokens. Other types are for other purposes, such as a log-out.
const TYPES: [&str; 3] = ["jwt", "at+jwt", "application/at+jwt"];

const MALFORMED: TokenError = TokenError::Invalid("the token is malformed");

pub(super) struct Jwt<'a> {
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
    pub(super) claims: Map<String, Value>,
    /// What is signed: the header and the claims as they were sent.
    pub(super) message: &'a str,
    pub(super) signature: &'a str,
}

impl<'a> Jwt<'a> {
    /// Whether a text is a JWT by its form. Others can be read only by their issuer.
    pub(super) fn is_one(token: &str) -> bool {
        token.split('.').count() == 3 && header(token).is_some()
    }

    pub(super) fn parse(token: &'a str) -> Result<Self, TokenError> {
        if token.len() > MAX_BYTES {
            return Err(TokenError::Invalid("the token is too large"));
        }
        let (message, signature) = token.rsplit_once('.').ok_or(MALFORMED)?;
        let (_, payload) = message.split_once('.').ok_or(MALFORMED)?;
        let header = header(token).ok_or(MALFORMED)?;
        let text = |name: &str| header.get(name).and_then(Value::as_str);
        let algorithm = text("alg").and_then(Algorithm::parse);
        let algorithm = algorithm.ok_or(TokenError::Invalid("the algorithm of the token is not accepted"))?;
        // What is critical has to be understood, and there is nothing here that could be.
        if header.contains_key("crit") {
            return Err(TokenError::Invalid("the token has critical extensions"));
        }
        let is_access_token = match header.get("typ") {
            None => true,
            Some(kind) => kind.as_str().is_some_and(|kind| TYPES.iter().any(|known| kind.eq_ignore_ascii_case(known))),
        };
        if !is_access_token {
            return Err(TokenError::Invalid("the token is not an access token (typ)"));
        }
        let key_id = match header.get("kid") {
            None => None,
            Some(id) => Some(id.as_str().ok_or(MALFORMED)?.to_owned()),
        };
        let claims = object(payload).ok_or(MALFORMED)?;
        Ok(Jwt { algorithm, key_id, claims, message, signature })
    }
}

fn header(token: &str) -> Option<Map<String, Value>> {
    object(token.split('.').next()?)
}

fn object(part: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn token(header: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.c2ln", part(header), part(&json!({"sub": "ann"})))
    }

    fn refusal(header: &Value) -> String {
        Jwt::parse(&token(header)).err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn a_header_says_how_the_token_is_signed() {
        let text = token(&json!({"alg": "ES256", "kid": "k1", "typ": "at+JWT"}));
        let jwt = Jwt::parse(&text).unwrap();
        assert_eq!((jwt.algorithm, jwt.key_id.as_deref()), (Algorithm::Es256, Some("k1")));
        assert_eq!(jwt.claims["sub"], "ann");
        assert_eq!(format!("{}.{}", jwt.message, jwt.signature), text);
    }

    #[test]
    fn what_is_no_access_token_is_refused() {
        for name in ["none", "HS256", "HS512", "ES512", "rs256", ""] {
            assert_eq!(refusal(&json!({"alg": name})), "the algorithm of the token is not accepted", "{name}");
        }
        assert_eq!(refusal(&json!({"alg": "RS256", "crit": ["exp"]})), "the token has critical extensions");
        for kind in ["dpop+jwt", "logout+jwt", "oauth-id-jag+jwt"] {
            assert!(refusal(&json!({"alg": "RS256", "typ": kind})).contains("not an access token"), "{kind}");
        }
        assert_eq!(refusal(&json!({"alg": "RS256", "kid": 7})), "the token is malformed");
        for text in ["", "a.b", "a.b.c", "a.b.c.d", "eyJhbGciOiJSUzI1NiJ9.e30", "eyJhbGciOiJSUzI1NiJ9.bm8.c"] {
            assert!(Jwt::parse(text).is_err(), "{text}");
        }
        assert!(Jwt::parse(&format!("{}.e30.x", "a".repeat(MAX_BYTES))).is_err());
    }

    #[test]
    fn a_token_of_another_form_is_none() {
        assert!(Jwt::is_one(&token(&json!({"alg": "RS256"}))));
        for text in ["gho_16C7e42F292c6912E7710c838347Ae178B4a", "a.b.c", "abc", "v2.local.payload"] {
            assert!(!Jwt::is_one(text), "{text}");
        }
    }
}
