//! Encrypted handles for clients: session ids, cursors, tickets and task IDs contain state of the proxy. Only this process, or
//! processes with the same keys, can read them; a client cannot read, modify or exchange them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};

/// The purpose of a handle. A handle cannot be opened for another purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Session,
    Cursor,
    Ticket,
    Task,
    Journal,
    /// The log-in at a server.
    Credential,
    /// A note from one process to others.
    Note,
    /// The session of a client at a server, with which another process goes on.
    ServerSession,
    /// A large result of which the client reads one page after the other.
    Result,
    /// Who uses the pages on which people log in, and what they are about to do there.
    Connect,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Purpose::Session => "session",
            Purpose::Cursor => "cursor",
            Purpose::Ticket => "ticket",
            Purpose::Task => "task",
            Purpose::Journal => "journal",
            Purpose::Credential => "credential",
            Purpose::Note => "note",
            Purpose::ServerSession => "server session",
            Purpose::Result => "result",
            Purpose::Connect => "connect",
        }
    }
}

/// The version of the handle format, so that it can change while older handles are in use.
const FORMAT_VERSION: u8 = 1;
const NONCE_BYTES: usize = 24;

#[derive(Clone)]
pub struct Sealer {
    newest: XChaCha20Poly1305,
    /// Earlier keys, for handles that are still in use.
    older: Vec<XChaCha20Poly1305>,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Sealer")
    }
}

impl Sealer {
    /// A sealer with a random key, which is lost when the process exits.
    ///
    /// # Errors
    /// If the system's random number generator fails.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Sealer { newest: XChaCha20Poly1305::new(&key.into()), older: Vec::new() })
    }

    /// A sealer with shared keys: the first encrypts, all decrypt. Without any key, like [`Sealer::new`].
    ///
    /// # Errors
    /// If the system's random number generator fails.
    pub fn with_keys<'a>(keys: impl IntoIterator<Item = &'a str>) -> Result<Self, getrandom::Error> {
        let mut ciphers = keys.into_iter().map(|key| {
            // Hashing uses the whole entropy of a key, whatever its length and alphabet.
            let digest = Sha256::digest([b"proxy state key\n", key.as_bytes()].concat());
            XChaCha20Poly1305::new(&digest)
        });
        match ciphers.next() {
            Some(newest) => Ok(Sealer { newest, older: ciphers.collect() }),
            None => Self::new(),
        }
    }

    /// Encrypts `content` for one purpose and one owner, as URL-safe text.
    ///
    /// # Errors
    /// If the system's random number generator fails.
    pub fn seal(&self, purpose: Purpose, owner: &str, content: &[u8]) -> Result<String, getrandom::Error> {
        Ok(URL_SAFE_NO_PAD.encode(self.seal_bytes(purpose, owner, content)?))
    }

    /// Encrypts `content` for one purpose and one owner, as bytes for the store.
    ///
    /// # Errors
    /// If the system's random number generator fails.
    pub fn seal_bytes(&self, purpose: Purpose, owner: &str, content: &[u8]) -> Result<Vec<u8>, getrandom::Error> {
        let mut sealed = vec![FORMAT_VERSION];
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce)?;
        sealed.extend(nonce);
        let associated = associated_data(purpose, owner);
        let payload = Payload { msg: content, aad: &associated };
        // Encryption fails only for messages of hundreds of gigabytes.
        let text = self.newest.encrypt(XNonce::from_slice(&nonce), payload).unwrap_or_default();
        sealed.extend(text);
        Ok(sealed)
    }

    /// Decrypts the text of [`Sealer::seal`]. `None` if it is invalid, or was sealed for another purpose or owner.
    pub fn open(&self, purpose: Purpose, owner: &str, sealed: &str) -> Option<Vec<u8>> {
        self.open_bytes(purpose, owner, &URL_SAFE_NO_PAD.decode(sealed).ok()?)
    }

    /// Decrypts the bytes of [`Sealer::seal_bytes`]. `None` if they are invalid, or were sealed for another purpose or
    /// owner.
    pub fn open_bytes(&self, purpose: Purpose, owner: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        open_with(&self.newest, purpose, owner, sealed)
            .or_else(|| self.older.iter().find_map(|older| open_with(older, purpose, owner, sealed)))
    }

    /// Whether the bytes of [`Sealer::seal_bytes`] were sealed with the key that is used now.
    pub fn is_newest(&self, purpose: Purpose, owner: &str, sealed: &[u8]) -> bool {
        open_with(&self.newest, purpose, owner, sealed).is_some()
    }
}

fn open_with(cipher: &XChaCha20Poly1305, purpose: Purpose, owner: &str, sealed: &[u8]) -> Option<Vec<u8>> {
    let (version, rest) = sealed.split_first()?;
    if *version != FORMAT_VERSION || rest.len() < NONCE_BYTES {
        return None;
    }
    let (nonce, text) = rest.split_at(NONCE_BYTES);
    let associated = associated_data(purpose, owner);
    cipher.decrypt(XNonce::from_slice(nonce), Payload { msg: text, aad: &associated }).ok()
}

fn associated_data(purpose: Purpose, owner: &str) -> Vec<u8> {
    format!("{}\n{owner}", purpose.as_str()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_opens_for_its_owner_and_purpose_only() {
        let sealer = Sealer::new().unwrap();
        let sealed = sealer.seal(Purpose::Cursor, "ann", b"page 2").unwrap();
        assert_eq!(sealer.open(Purpose::Cursor, "ann", &sealed).as_deref(), Some(&b"page 2"[..]));
        assert_eq!(sealer.open(Purpose::Cursor, "bob", &sealed), None);
        assert_eq!(sealer.open(Purpose::Task, "ann", &sealed), None);
        assert_eq!(Sealer::new().unwrap().open(Purpose::Cursor, "ann", &sealed), None, "another process");
    }

    #[test]
    fn a_new_key_seals_and_the_old_ones_still_open() {
        let (old, new) = ("o".repeat(32), "n".repeat(32));
        let before = Sealer::with_keys([old.as_str()]).unwrap();
        let between = Sealer::with_keys([new.as_str(), old.as_str()]).unwrap();
        let after = Sealer::with_keys([new.as_str()]).unwrap();
        let sealed = before.seal(Purpose::Ticket, "ann", b"1").unwrap();
        assert_eq!(between.open(Purpose::Ticket, "ann", &sealed).as_deref(), Some(&b"1"[..]));
        assert_eq!(after.open(Purpose::Ticket, "ann", &sealed), None);
        let sealed = between.seal(Purpose::Ticket, "ann", b"2").unwrap();
        assert_eq!(after.open(Purpose::Ticket, "ann", &sealed).as_deref(), Some(&b"2"[..]));
        assert_eq!(before.open(Purpose::Ticket, "ann", &sealed), None);
        let [one, other] = [0; 2].map(|_| Sealer::with_keys([]).unwrap());
        let sealed = one.seal(Purpose::Ticket, "ann", b"3").unwrap();
        assert_eq!(other.open(Purpose::Ticket, "ann", &sealed), None, "without keys each process has its own");
    }

    #[test]
    fn no_changed_or_made_up_handle_opens() {
        let sealer = Sealer::new().unwrap();
        let sealed = sealer.seal(Purpose::Ticket, "ann", b"secret").unwrap();
        for position in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(sealer.open(Purpose::Ticket, "ann", &changed), None);
        }
        for made_up in ["", "x", "AAAA", "not base64!", &sealed[..sealed.len() - 1]] {
            assert_eq!(sealer.open(Purpose::Ticket, "ann", made_up), None);
        }
    }
}
