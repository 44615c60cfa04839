//! The request of an effect, compared when a run comes to the same position again.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// Kept as text, because a digest is computed only when the journal leaves the memory of this process.
#[derive(Clone, Debug)]
pub enum Fingerprint {
    Text(Box<str>),
    Digest(String),
}

/// Separates the parts of a request. Two requests of one kind have the same number of parts, so joining them is
/// unambiguous.
const SEPARATOR: &str = "\u{0}";

impl Fingerprint {
    pub fn of(parts: &[&str]) -> Self {
        Fingerprint::Text(parts.join(SEPARATOR).into())
    }

    pub fn bytes(&self) -> usize {
        match self {
            Fingerprint::Text(text) => text.len(),
            Fingerprint::Digest(digest) => digest.len(),
        }
    }

    pub fn matches(&self, parts: &[&str]) -> bool {
        let joined = parts.join(SEPARATOR);
        match self {
            Fingerprint::Text(text) => **text == *joined,
            Fingerprint::Digest(known) => *known == digest(&joined),
        }
    }
}

fn digest(text: &str) -> String {
    proxy_json::hex(&Sha256::digest(text.as_bytes()))
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Fingerprint::Text(text) => serializer.serialize_str(&digest(text)),
            Fingerprint::Digest(digest) => serializer.serialize_str(digest),
        }
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Fingerprint::Digest)
    }
}
