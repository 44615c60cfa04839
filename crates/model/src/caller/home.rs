//! The name of a process of the proxy, by which others know where something is.

use std::fmt;
use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use proxy_json::hex;

/// A process of the proxy. Session ids, event ids and questions to clients name it, as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Home(u64);

static THIS_PROCESS: LazyLock<Home> = LazyLock::new(|| {
    let mut random = [0; 8];
    // Without random numbers the proxy does not start: it could not make keys.
    let _ = getrandom::fill(&mut random);
    Home(u64::from_be_bytes(random))
});

impl Home {
    /// A random name, for as long as the process lives.
    pub fn of_this_process() -> Self {
        *THIS_PROCESS
    }

    /// Reads what [`fmt::Display`] writes, and nothing else.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 16 || !text.bytes().all(is_digit) {
            return None;
        }
        u64::from_str_radix(text, 16).ok().map(Home)
    }

    /// What others than the replicas may know of the process.
    pub fn digest(self) -> String {
        hex(&Sha256::digest(format!("home {self}"))[..8])
    }

    pub(super) fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Home {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_has_one_spelling() {
        let home = Home::of_this_process();
        assert_eq!(Home::parse(&home.to_string()), Some(home));
        assert_eq!(Home::parse("00000000000000ab"), Some(Home(0xab)));
        for other in ["", "ab", "00000000000000AB", "+0000000000000ab", "00000000000000abc", "0000000000000\u{e4}b"] {
            assert_eq!(Home::parse(other), None, "{other}");
        }
    }
}
