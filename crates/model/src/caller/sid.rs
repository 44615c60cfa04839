//! The number of a session.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use super::Home;
use proxy_json::hex;

/// The number of a session: the same in every process that serves it, and of no other session. It is part of the sealed
/// session id; nobody can use a session by its number alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sid([u8; 16]);

impl Sid {
    /// A new session that may outlive this process.
    ///
    /// # Errors
    /// If the system's random number generator fails.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)?;
        Ok(Sid(random))
    }

    /// A connection of this process, which ends with it.
    pub fn of_connection() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Sid::joined(Home::of_this_process().bits(), number)
    }

    /// Whether it is a connection of this process, which no other process knows.
    pub fn is_connection_here(&self) -> bool {
        self.0.starts_with(&Home::of_this_process().bits().to_be_bytes())
    }

    /// The session that a recording or a test calls by this number.
    pub fn numbered(number: u64) -> Self {
        Sid::joined(0, number)
    }

    fn joined(high: u64, low: u64) -> Self {
        Sid(((u128::from(high) << 64) | u128::from(low)).to_be_bytes())
    }

    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let number = u128::from_str_radix(text, 16).ok()?;
        Some(Sid(number.to_be_bytes()))
    }

    /// What logs and records say instead of the number.
    pub fn digest(&self) -> SessionDigest {
        let digest = Sha256::digest(self.0);
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        SessionDigest(u64::from_be_bytes(first))
    }
}

impl fmt::Display for Sid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Sid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Sid({})", self.digest())
    }
}

/// The public name of a session, as 16 hexadecimal digits: for logs, records and operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionDigest(u64);

impl SessionDigest {
    pub fn parse(text: &str) -> Option<Self> {
        Home::parse(text).map(|digits| SessionDigest(digits.bits()))
    }

    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SessionDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_have_numbers_of_their_own_and_digests_that_can_be_shown() {
        let all = [Sid::random().unwrap(), Sid::of_connection(), Sid::of_connection(), Sid::numbered(1)];
        for (position, one) in all.iter().enumerate() {
            assert_eq!(Sid::parse(&one.to_string()).as_ref(), Some(one));
            assert_eq!(SessionDigest::parse(&one.digest().to_string()), Some(one.digest()));
            assert!(!format!("{one:?}").contains(&one.to_string()));
            assert!(all[position + 1..].iter().all(|other| other != one && other.digest() != one.digest()));
        }
        assert_eq!(all.map(|sid| sid.is_connection_here()), [false, true, true, false]);
        for wrong in ["", "1", "+0000000000000000000000000000001", &"g".repeat(32)] {
            assert_eq!(Sid::parse(wrong), None, "{wrong}");
        }
    }
}
