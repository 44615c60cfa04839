//! The cookies of the pages. One tells browsers apart while a person is elsewhere; another says that somebody has signed in.
//! Both are random; what they stand for is in the store. The third is a sign-in that has begun, sealed.

use ::http::header::COOKIE;
use ::http::{HeaderMap, HeaderValue};
use sha2::{Digest, Sha256};

use proxy_json::hex;
use proxy_model::Secret;

/// How long those last that tell browsers and people apart.
pub(super) const LIFETIME_SECONDS: u64 = 15 * 60;
/// How long somebody may take to sign in.
pub(super) const SIGN_IN_SECONDS: u64 = 10 * 60;
/// Of a random value, in hexadecimal digits.
const LENGTH: usize = 64;
/// Of a sealed one. Browsers keep no more.
const MAX_SEALED: usize = 4096;

/// What a cookie is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cookie {
    /// Marks the browser that a visit elsewhere has begun in.
    Flow,
    /// Somebody has signed in.
    Person,
    /// Somebody is about to sign in.
    SignIn,
}

impl Cookie {
    /// By HTTPS no other host and no page without HTTPS can set it.
    fn name(self, is_secure: bool) -> &'static str {
        match (self, is_secure) {
            (Cookie::Flow, true) => "__Host-proxy-flow",
            (Cookie::Flow, false) => "proxy-flow",
            (Cookie::Person, true) => "__Host-proxy-person",
            (Cookie::Person, false) => "proxy-person",
            (Cookie::SignIn, true) => "__Host-proxy-sign-in",
            (Cookie::SignIn, false) => "proxy-sign-in",
        }
    }

    fn can_be(self, value: &str) -> bool {
        match self {
            Cookie::Flow | Cookie::Person => {
                value.len() == LENGTH && value.bytes().all(|byte| byte.is_ascii_hexdigit())
            }
            Cookie::SignIn => {
                let is_of_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
                value.len() <= MAX_SEALED && value.bytes().all(is_of_base64)
            }
        }
    }

    fn lifetime(self) -> u64 {
        match self {
            Cookie::Flow | Cookie::Person => LIFETIME_SECONDS,
            Cookie::SignIn => SIGN_IN_SECONDS,
        }
    }

    /// The value in a request. `None` if there are several: one of them may have been planted.
    pub(super) fn read(self, headers: &HeaderMap, is_secure: bool) -> Option<Secret> {
        let name = self.name(is_secure);
        let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value);
        let value = values.next().filter(|value| self.can_be(value))?;
        values.next().is_none().then(|| Secret::new(value))
    }

    /// The header that sets it.
    pub(super) fn set(self, value: &Secret, is_secure: bool) -> Option<HeaderValue> {
        self.header(value.reveal(), self.lifetime(), is_secure)
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
