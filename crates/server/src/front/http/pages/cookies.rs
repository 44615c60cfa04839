//! The cookies of the pages. One tells browsers apart while a person is elsewhere; the other says that somebody has signed
//! in. Both are random; what they stand for is in the store.

use ::http::header::COOKIE;
use ::http::{HeaderMap, HeaderValue};
use sha2::{Digest, Sha256};

use proxy_json::hex;
use proxy_model::Secret;

/// How long both last.
pub(super) const LIFETIME_SECONDS: u64 = 15 * 60;
/// In hexadecimal digits.
const LENGTH: usize = 64;

/// What a cookie is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cookie {
    /// Marks the browser that a visit elsewhere has begun in.
    Flow,
    /// Somebody has signed in.
    Person,
}

impl Cookie {
    /// By HTTPS no other host and no page without HTTPS can set it.
    fn name(self, is_secure: bool) -> &'static str {
        match (self, is_secure) {
            (Cookie::Flow, true) => "__Host-proxy-flow",
            (Cookie::Flow, false) => "proxy-flow",
            (Cookie::Person, true) => "__Host-proxy-person",
            (Cookie::Person, false) => "proxy-person",
        }
    }

    /// The value in a request. `None` if there are several: one of them may have been planted.
    pub(super) fn read(self, headers: &HeaderMap, is_secure: bool) -> Option<Secret> {
        let name = self.name(is_secure);
        let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
        let value = values.next().filter(|value| is_value(value))?;
        values.next().is_none().then(|| Secret::new(value))
    }

    /// The header that sets it.
    pub(super) fn set(self, value: &Secret, is_secure: bool) -> Option<HeaderValue> {
        self.header(value.reveal(), LIFETIME_SECONDS, is_secure)
    }

    /// The header that removes it.
    pub(super) fn remove(self, is_secure: bool) -> Option<HeaderValue> {
        self.header("", 0, is_secure)
    }

    fn header(self, value: &str, seconds: u64, is_secure: bool) -> Option<HeaderValue> {
        let secure = if is_secure { "; Secure" } else { "" };
        let name = self.name(is_secure);
        let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::from_str(&text).ok()
    }
}

fn is_value(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A new value.
///
/// # Errors
/// If the system's random number generator fails.
pub(super) fn new_value() -> Result<Secret, getrandom::Error> {
    let mut random = [0u8; LENGTH / 2];
    getrandom::fill(&mut random)?;
    Ok(Secret::new(hex(&random)))
}

/// What is kept of a secret value, for one use: it cannot be turned back.
pub(super) fn digest(of: &str, value: &str) -> String {
    hex(&Sha256::digest(format!("{of}\n{value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(cookies: &[&str]) -> HeaderMap {
        let pairs = cookies.iter().map(|text| (COOKIE, HeaderValue::from_str(text).unwrap()));
        pairs.collect()
    }

    #[test]
    fn a_cookie_is_read_if_there_is_one() {
        let value = new_value().unwrap();
        let text = format!("a=b; proxy-flow={}; c", value.reveal());
        let read = |cookies: &[&str]| Cookie::Flow.read(&headers(cookies), false);
        assert_eq!(read(&[&text]), Some(value.clone()));
        assert_eq!(Cookie::Flow.read(&headers(&[&text]), true), None, "by HTTPS it has another name");
        assert_eq!(read(&[&text, &text]), None, "one of two may have been planted");
        assert_eq!(read(&["proxy-flow=short"]), None);
        assert_eq!(read(&[]), None);
        assert_ne!(new_value().unwrap(), value);
    }

    #[test]
    fn scripts_other_hosts_and_other_sites_cannot_use_them() {
        let value = Secret::new("0".repeat(LENGTH));
        let set = Cookie::Person.set(&value, true).unwrap();
        let set = set.to_str().unwrap();
        assert!(set.starts_with("__Host-proxy-person=0000"), "{set}");
        for part in ["; Path=/;", "; HttpOnly", "; SameSite=Lax", "; Secure", "; Max-Age=900"] {
            assert!(set.contains(part), "{set}");
        }
        assert!(!set.contains("Domain"), "{set}");
        let local = Cookie::Person.remove(false).unwrap();
        assert_eq!(local.to_str().unwrap(), "proxy-person=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
    }
}
