//! Parses a connection string. The driver does not know all TLS options of libpq, so `sslmode` and `sslrootcert` are
//! split off and handled here.

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use super::tls::{CaFile, Trust};
use crate::Folder;

/// The TLS options of libpq.
const MODE: &str = "sslmode";
const ROOTS: &str = "sslrootcert";

/// The server to connect to, and how its certificate is verified.
pub(super) struct ConnectionTarget {
    pub(super) config: Config,
    pub(super) trust: Trust,
}

impl ConnectionTarget {
    /// Parses a connection string. Files must be in the folders of the extension. Errors quote nothing of the string
    /// but the names of these options, because it may contain a password.
    pub(super) fn of(connection: &str, folder: &Folder) -> Result<Self, String> {
        let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| connection.starts_with(scheme));
        let split = if is_url { take_from_url(connection) } else { take_from_words(connection) };
        let mut config: Config = split.rest.parse().map_err(|_| {
            "invalid connection string; write `postgresql://user:password@host:5432/database`".to_owned()
        })?;
        let roots = match split.roots.as_deref() {
            None | Some("system") => None,
            Some(path) => Some(CaFile::read(folder, path).map_err(|problem| format!("`{ROOTS}`: {problem}"))?),
        };
        let (mode, trust) = strictness(split.mode.as_deref(), roots)?;
        config.ssl_mode(mode);
        Ok(ConnectionTarget { config, trust })
    }
}

/// The TLS mode and certificate verification, as in libpq: with `sslrootcert`, `require` also verifies the CA.
fn strictness(mode: Option<&str>, roots: Option<CaFile>) -> Result<(SslMode, Trust), String> {
    Ok(match (mode.unwrap_or("prefer"), roots) {
        ("disable", _) => (SslMode::Disable, Trust::Any),
        ("prefer" | "allow", _) => (SslMode::Prefer, Trust::Any),
        ("require", None) => (SslMode::Require, Trust::Any),
        ("require" | "verify-ca", roots) => (SslMode::Require, Trust::Authority(roots)),
        ("verify-full", roots) => (SslMode::Require, Trust::AuthorityAndName(roots)),
        _ => {
            return Err(format!(
                "`{MODE}` of the connection string must be disable, prefer, require, verify-ca or verify-full"
            ));
        }
    })
}

#[derive(Debug, Default, PartialEq, Eq)]
struct SplitString {
    rest: String,
    mode: Option<String>,
    roots: Option<String>,
}

impl SplitString {
    /// Stores a TLS option, and returns whether it was one.
    fn take(&mut self, key: &str, value: String) -> bool {
        match key {
            MODE => self.mode = Some(value),
            ROOTS => self.roots = Some(value),
            _ => return false,
        }
        true
    }
}

/// Splits `postgresql://user:password@host/database?key=value&...`. The password may contain a `?`.
fn take_from_url(connection: &str) -> SplitString {
    let credentials = connection.find('@').unwrap_or(0);
    let Some(query) = connection[credentials..].find('?').map(|at| credentials + at) else {
        return SplitString { rest: connection.to_owned(), ..SplitString::default() };
    };
    let mut split = SplitString::default();
    let mut left = Vec::new();
    for pair in connection[query + 1..].split('&') {
        let decoded = url::form_urlencoded::parse(pair.as_bytes()).next();
        if !decoded.is_some_and(|(key, value)| split.take(&key, value.into_owned())) {
            left.push(pair);
        }
    }
    let mark = if left.is_empty() { "" } else { "?" };
    split.rest = format!("{}{mark}{}", &connection[..query], left.join("&"));
    split
}

/// Splits `key=value key='a value'`. Invalid parts are left to the driver, which reports them.
fn take_from_words(connection: &str) -> SplitString {
    let mut split = SplitString::default();
    let mut rest = connection;
    loop {
        let trimmed = rest.trim_start();
        let Some((key, after)) = trimmed.split_once('=') else { break };
        let (value, after) = value(after.trim_start());
        if !split.take(key.trim_end(), value) {
            split.rest.push_str(&trimmed[..trimmed.len() - after.len()]);
            split.rest.push(' ');
        }
        rest = after;
    }
    split.rest.push_str(rest);
    split
}

/// The value at the beginning of a text, and the rest.
fn value(text: &str) -> (String, &str) {
    let quoted = text.starts_with('\'');
    let mut letters = text.char_indices().skip(usize::from(quoted));
    let mut value = String::new();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' if quoted => return (value, &text[at + 1..]),
            _ if !quoted && letter.is_whitespace() => return (value, &text[at..]),
            '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
            _ => value.push(letter),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(rest: &str, mode: Option<&str>, roots: Option<&str>) -> SplitString {
        SplitString { rest: rest.to_owned(), mode: mode.map(str::to_owned), roots: roots.map(str::to_owned) }
    }

    #[test]
    fn the_words_about_certificates_are_taken_out_of_both_forms() {
        for (given, expected) in [
            ("postgres://a:b@h/d", split("postgres://a:b@h/d", None, None)),
            ("postgres://a:b@h/d?sslmode=verify-full", split("postgres://a:b@h/d", Some("verify-full"), None)),
            (
                "postgres://a:b?sslmode=x@h/d?options=-c&sslrootcert=my%20ca.pem&connect_timeout=3",
                split("postgres://a:b?sslmode=x@h/d?options=-c&connect_timeout=3", None, Some("my ca.pem")),
            ),
        ] {
            assert_eq!(take_from_url(given), expected, "{given}");
        }
        for (given, expected) in [
            ("host=h sslmode=require user=u", split("host=h user=u ", Some("require"), None)),
            (
                r"password='it\'s sslmode=disable' sslrootcert = 'a b.pem'",
                split(r"password='it\'s sslmode=disable' ", None, Some("a b.pem")),
            ),
            ("nonsense", split("nonsense", None, None)),
            ("password='open", split("password='open ", None, None)),
        ] {
            assert_eq!(take_from_words(given), expected, "{given}");
        }
    }

    #[test]
    fn what_a_mode_asks_for_is_what_libpq_does() {
        let root = || Some(CaFile { name: "ca.pem".to_owned(), pem: Vec::new() });
        for (mode, roots, expected) in [
            (None, None, (SslMode::Prefer, Trust::Any)),
            (Some("disable"), root(), (SslMode::Disable, Trust::Any)),
            (Some("require"), None, (SslMode::Require, Trust::Any)),
            (Some("require"), root(), (SslMode::Require, Trust::Authority(root()))),
            (Some("verify-ca"), None, (SslMode::Require, Trust::Authority(None))),
            (Some("verify-full"), root(), (SslMode::Require, Trust::AuthorityAndName(root()))),
        ] {
            assert_eq!(strictness(mode, roots), Ok(expected), "{mode:?}");
        }
        assert!(strictness(Some("verify_full"), None).is_err());
    }
}
