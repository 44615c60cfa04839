//! The key of an audit log: keyed digests of values, and seals.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;

use proxy_json::{canonical, hex};
use proxy_model::Secret;
use serde_json::Value;

/// HMAC-SHA-256 with the key of the config.
#[derive(Clone)]
pub struct AuditKey {
    key: hmac::Key,
    id: String,
}

impl AuditKey {
    pub fn new(secret: &Secret) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.reveal().as_bytes());
        let id = hex(&hmac::sign(&key, b"id").as_ref()[..4]);
        AuditKey { key, id }
    }

    /// Tells keys apart and reveals nothing of them.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The digest of a value, the same for every order of its keys. Without the key, nobody can find a value by trying all.
    pub(super) fn digest(&self, value: &Value) -> String {
        self.sign(&canonical(value))
    }

    /// The seal of the line with this number, whose predecessors end with `head`. No JSON value begins like the text, so no
    /// digest of a value is a seal.
    pub(super) fn seal(&self, seq: u64, head: &str) -> String {
        self.sign(&format!("seal {seq} {head}"))
    }

    /// Whether a seal is right, compared in constant time.
    pub(super) fn is_seal(&self, seq: u64, head: &str, seal: &str) -> bool {
        verify_slices_are_equal(self.seal(seq, head).as_bytes(), seal.as_bytes()).is_ok()
    }

    fn sign(&self, text: &str) -> String {
        format!("hmac:{}", hex(hmac::sign(&self.key, text.as_bytes()).as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn digests_are_hmac_sha_256_of_the_canonical_text() {
        let key = AuditKey::new(&Secret::new("Jefe"));
        // RFC 4231, test case 2.
        assert_eq!(
            key.sign("what do ya want for nothing?"),
            "hmac:5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(key.digest(&json!({"a": 1, "b": 2})), key.digest(&json!({"b": 2, "a": 1})));
        assert_ne!(key.digest(&json!({"a": 1})), AuditKey::new(&Secret::new("other")).digest(&json!({"a": 1})));
    }

    #[test]
    fn only_the_key_makes_a_seal() {
        let (key, other) = (AuditKey::new(&Secret::new("one")), AuditKey::new(&Secret::new("two")));
        let seal = key.seal(7, "sha256:00");
        assert!(key.is_seal(7, "sha256:00", &seal));
        for wrong in [
            key.is_seal(8, "sha256:00", &seal),
            key.is_seal(7, "sha256:01", &seal),
            other.is_seal(7, "sha256:00", &seal),
        ] {
            assert!(!wrong);
        }
        assert!(!key.is_seal(7, "sha256:00", "hmac:é") && !key.is_seal(7, "sha256:00", ""));
        assert_ne!(key.id(), other.id());
    }
}
