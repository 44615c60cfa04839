//! The chain of an audit log: every line has a number and the hash of the line before it.

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::key::AuditKey;
use proxy_base::foreign_text::json_visible;
use proxy_json::hex;

/// The version of the format.
const VERSION: u64 = 1;

/// The hash of a line without its line feed.
pub(super) fn hash(line: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(line)))
}

#[derive(Serialize)]
struct ChainedLine<'a, T> {
    v: u64,
    seq: u64,
    #[serde(flatten)]
    content: &'a T,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    /// The hash of the line before.
    prev: Option<&'a str>,
}

/// The end of a chain, to which lines are added.
#[derive(Clone)]
pub(super) struct Chain {
    /// The number of the last line; zero if there is none.
    seq: u64,
    /// The hash of the last line.
    head: Option<String>,
    key: Option<AuditKey>,
}

impl Chain {
    pub(super) fn new(key: Option<AuditKey>) -> Self {
        Chain { seq: 0, head: None, key }
    }

    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    pub(super) fn head(&self) -> Option<&str> {
        self.head.as_deref()
    }

    pub(super) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Continues behind the last line of a file. `None` if it is no line of an audit log.
    pub(super) fn after(&self, line: &[u8]) -> Option<Self> {
        let parsed: Value = serde_json::from_slice(line).ok()?;
        let seq = parsed["seq"].as_u64().filter(|_| parsed["v"] == VERSION)?;
        Some(Chain { seq, head: Some(hash(line)), key: self.key.clone() })
    }

    /// Makes a line, without its line feed, and adds it to the chain. The content is an object.
    pub(super) fn link(&mut self, content: &impl Serialize) -> String {
        self.seq += 1;
        let key = self.key.as_ref().map(AuditKey::id);
        let line = ChainedLine { v: VERSION, seq: self.seq, content, key, prev: self.head.as_deref() };
        // Fails only if the content is not an object.
        let line = serde_json::to_string(&line).unwrap_or_default();
        // Invisible characters are escaped, so that terminals and editors show the line as it is.
        let line = json_visible(&line).into_owned();
        self.head = Some(hash(line.as_bytes()));
        line
    }

    /// Makes a line that proves to anyone with the key that all lines before it are unchanged.
    pub(super) fn seal(&mut self, at: String) -> Option<String> {
        let (key, head) = (self.key.as_ref()?, self.head.as_deref()?);
        let seal = key.seal(self.seq + 1, head);
        Some(self.link(&json!({"at": at, "type": "seal", "seal": seal})))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_continues_behind_its_last_line() {
        let mut chain = Chain::new(None);
        let first = chain.link(&json!({}));
        assert_eq!(first, r#"{"v":1,"seq":1,"prev":null}"#);
        let second = chain.link(&json!({}));
        assert!(second.contains(&format!("\"prev\":\"{}\"", hash(first.as_bytes()))), "{second}");
        let mut continued = Chain::new(None).after(second.as_bytes()).unwrap();
        assert_eq!(continued.link(&json!({})), chain.link(&json!({})));
        assert!(Chain::new(None).after(b"hello").is_none());
        assert!(Chain::new(None).after(br#"{"seq":1}"#).is_none());
    }
}
