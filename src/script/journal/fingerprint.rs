//! What was asked for at a place of the program, to tell whether it is the same when the program comes there again.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// Written down as text, which costs nothing but room; a digest of it only when it leaves this process's memory.
#[derive(Clone, Debug)]
pub(super) enum Fingerprint {
    Text(Box<str>),
    Digest(String),
}

/// Between two parts; in front of it nothing is ambiguous, because the number of parts and their kinds are the
/// program's own.
const SEPARATOR: &str = "\u{0}";

impl Fingerprint {
    pub(super) fn of(parts: &[&str]) -> Self {
        Fingerprint::Text(parts.join(SEPARATOR).into())
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Fingerprint::Text(text) => text.len(),
            Fingerprint::Digest(digest) => digest.len(),
        }
    }

    pub(super) fn is_of(&self, parts: &[&str]) -> bool {
        let joined = parts.join(SEPARATOR);
        match self {
            Fingerprint::Text(text) => **text == *joined,
            Fingerprint::Digest(known) => *known == digest(&joined),
        }
    }
}

fn digest(text: &str) -> String {
    crate::json::hex(&Sha256::digest(text.as_bytes()))
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
