//! A connection string taken apart: what the driver reads of it, and what it says about certificates, which the driver
//! does not know.

use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use super::tls::Trust;
use crate::host_io::Folder;

/// Words of libpq for how the server's certificate is checked.
const MODE: &str = "sslmode";
const ROOTS: &str = "sslrootcert";

/// Where to connect, and how sure of it to be.
pub(super) struct Target {
    pub(super) config: Config,
    pub(super) trust: Trust,
}

impl Target {
    /// Files are looked for in the folders of the extension. No error quotes any part of the string but these words.
    pub(super) fn of(connection: &str, folder: &Folder) -> Result<Self, String> {
        let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| connection.starts_with(scheme));
        let taken = if is_url { take_from_url(connection) } else { take_from_words(connection) };
        let mut config: Config = taken.rest.parse().map_err(|_| {
            "the connection string cannot be read; write `postgresql://user:password@host:5432/database`".to_owned()
        })?;
        let roots = match taken.roots.as_deref() {
            None | Some("system") => None,
            Some(path) => Some(folder.existing(path).map_err(|problem| format!("`{ROOTS}`: {problem}"))?),
        };
        let (mode, trust) = strictness(taken.mode.as_deref(), roots)?;
        config.ssl_mode(mode);
        Ok(Target { config, trust })
    }
}

/// As libpq has it: an authority that is named is asked for, also where the mode alone would take any certificate.
fn strictness(mode: Option<&str>, roots: Option<PathBuf>) -> Result<(SslMode, Trust), String> {
    Ok(match (mode.unwrap_or("prefer"), roots) {
        ("disable", _) => (SslMode::Disable, Trust::Anybody),
        ("prefer" | "allow", _) => (SslMode::Prefer, Trust::Anybody),
        ("require", None) => (SslMode::Require, Trust::Anybody),
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
struct Taken {
    rest: String,
    mode: Option<String>,
    roots: Option<String>,
}

impl Taken {
    /// Whether it was one of the words.
    fn take(&mut self, key: &str, value: String) -> bool {
        match key {
            MODE => self.mode = Some(value),
            ROOTS => self.roots = Some(value),
            _ => return false,
        }
        true
    }
}

/// `postgresql://user:password@host/database?key=value&...`. A password may have a `?` in it.
fn take_from_url(connection: &str) -> Taken {
    let credentials = connection.find('@').unwrap_or(0);
    let Some(query) = connection[credentials..].find('?').map(|at| credentials + at) else {
        return Taken { rest: connection.to_owned(), ..Taken::default() };
    };
    let mut taken = Taken::default();
    let mut left = Vec::new();
    for pair in connection[query + 1..].split('&') {
        let decoded = url::form_urlencoded::parse(pair.as_bytes()).next();
        if !decoded.is_some_and(|(key, value)| taken.take(&key, value.into_owned())) {
            left.push(pair);
        }
    }
    let mark = if left.is_empty() { "" } else { "?" };
    taken.rest = format!("{}{mark}{}", &connection[..query], left.join("&"));
    taken
}

/// `key=value key='a value'`. What cannot be read stays for the driver to complain of.
fn take_from_words(connection: &str) -> Taken {
    let mut taken = Taken::default();
    let mut rest = connection;
    loop {
        let trimmed = rest.trim_start();
        let Some((key, after)) = trimmed.split_once('=') else { break };
        let (value, after) = value(after.trim_start());
        if !taken.take(key.trim_end(), value) {
            taken.rest.push_str(&trimmed[..trimmed.len() - after.len()]);
            taken.rest.push(' ');
        }
        rest = after;
    }
    taken.rest.push_str(rest);
    taken
}

/// The value that a text begins with, and what follows it.
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

    fn taken(rest: &str, mode: Option<&str>, roots: Option<&str>) -> Taken {
        Taken { rest: rest.to_owned(), mode: mode.map(str::to_owned), roots: roots.map(str::to_owned) }
    }

    #[test]
    fn the_words_about_certificates_are_taken_out_of_both_forms() {
        for (given, expected) in [
            ("postgres://a:b@h/d", taken("postgres://a:b@h/d", None, None)),
            ("postgres://a:b@h/d?sslmode=verify-full", taken("postgres://a:b@h/d", Some("verify-full"), None)),
            (
                "postgres://a:b?sslmode=x@h/d?options=-c&sslrootcert=my%20ca.pem&connect_timeout=3",
                taken("postgres://a:b?sslmode=x@h/d?options=-c&connect_timeout=3", None, Some("my ca.pem")),
            ),
        ] {
            assert_eq!(take_from_url(given), expected, "{given}");
        }
        for (given, expected) in [
            ("host=h sslmode=require user=u", taken("host=h user=u ", Some("require"), None)),
            (
                r"password='it\'s sslmode=disable' sslrootcert = 'a b.pem'",
                taken(r"password='it\'s sslmode=disable' ", None, Some("a b.pem")),
            ),
            ("nonsense", taken("nonsense", None, None)),
            ("password='open", taken("password='open ", None, None)),
        ] {
            assert_eq!(take_from_words(given), expected, "{given}");
        }
    }

    #[test]
    fn what_a_mode_asks_for_is_what_libpq_does() {
        let root = || Some(PathBuf::from("ca.pem"));
        for (mode, roots, expected) in [
            (None, None, (SslMode::Prefer, Trust::Anybody)),
            (Some("disable"), root(), (SslMode::Disable, Trust::Anybody)),
            (Some("require"), None, (SslMode::Require, Trust::Anybody)),
            (Some("require"), root(), (SslMode::Require, Trust::Authority(root()))),
            (Some("verify-ca"), None, (SslMode::Require, Trust::Authority(None))),
            (Some("verify-full"), root(), (SslMode::Require, Trust::AuthorityAndName(root()))),
        ] {
            assert_eq!(strictness(mode, roots), Ok(expected), "{mode:?}");
        }
        assert!(strictness(Some("verify_full"), None).is_err());
    }
}
