//! The values of single keys that are about OAuth.

use crate::sections::url::url_problem;
use crate::syntax::reader::ValueReader;
use proxy_model::Secret;

pub(super) fn read_secret(reader: &ValueReader) -> Option<Secret> {
    let secret = reader.secret()?;
    if secret.reveal().is_empty() { reader.fail("must not be empty") } else { Some(secret) }
}

/// A URL at which tokens are handled: by `https`, or on this machine.
pub(super) fn read_url(reader: &ValueReader) -> Option<String> {
    read_https(reader, false)
}

/// The URL of a page that people open, which may have a query.
pub(super) fn read_page_url(reader: &ValueReader) -> Option<String> {
    read_https(reader, true)
}

fn read_https(reader: &ValueReader, may_have_query: bool) -> Option<String> {
    let text = reader.word()?;
    if let Some(problem) = url_problem(&text) {
        return reader.fail(problem);
    }
    let Ok(url) = url::Url::parse(&text) else { return reader.fail("expected a URL such as `https://host`") };
    if may_have_query && url.fragment().is_some() {
        return reader.fail("must not contain `#`");
    }
    if !may_have_query && (url.query().is_some() || url.fragment().is_some()) {
        return reader.fail("must not contain `?` or `#`");
    }
    if url.scheme() != "https" && !is_loopback(&url) {
        return reader.fail("must begin with `https://`: tokens are sent there");
    }
    Some(text)
}

pub(super) fn is_loopback(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// A client ID that is the URL of a document must have a path.
pub(super) fn read_metadata_url(reader: &ValueReader) -> Option<String> {
    let text = read_url(reader)?;
    let has_path = url::Url::parse(&text).is_ok_and(|url| url.path().len() > 1);
    if has_path { Some(text) } else { reader.fail("must have a path, such as `https://host/client.json`") }
}

pub(super) fn read_scope(reader: &ValueReader) -> Option<String> {
    let scope = reader.word()?;
    if is_scope(&scope) { Some(scope) } else { reader.fail("a scope must not contain spaces, quotes or backslashes") }
}

pub(super) fn read_port(reader: &ValueReader) -> Option<u16> {
    let port = reader.whole()?;
    u16::try_from(port).map_or_else(|_| reader.fail("expected a port up to 65535"), Some)
}

/// Whether a text is one scope (RFC 6749, 3.3).
pub fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'!' | b'#'..=b'[' | b']'..=b'~'))
}
