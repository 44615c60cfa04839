//! Which tool names may be published.

/// What the protocol recommends at most.
pub const MAX_NAME: usize = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Good,
    /// Outside of what the protocol recommends: passes only if a backend chose it.
    Odd,
    Impossible(&'static str),
}

pub fn judge(name: &str) -> Verdict {
    if name.is_empty() {
        return Verdict::Impossible("is empty");
    }
    if name.chars().any(char::is_control) {
        return Verdict::Impossible("has control characters");
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if name.len() <= MAX_NAME && name.bytes().all(plain) { Verdict::Good } else { Verdict::Odd }
}

/// Whether a name is what the protocol recommends.
pub fn is_plain_name(name: &str) -> bool {
    judge(name) == Verdict::Good
}
