//! Detects whether a request is stateless or session-based.

use ::http::HeaderMap;

use proxy_json::Object;
use proxy_wire::{Method, RESERVED, Request, Revision, headers, key};

/// A request is stateless if its `_meta` contains the protocol version, its headers name a stateless version, or its
/// method is `server/discover`. The header `Mcp-Method` alone does not make it stateless.
pub(crate) fn is_stateless(request: &Request, headers: Option<&HeaderMap>) -> bool {
    request.kind == Method::ServerDiscover || headers.is_some_and(names_modern_version) || has_modern_meta(request)
}

fn has_modern_meta(request: &Request) -> bool {
    let Some(params) = &request.params else { return false };
    // A key may be written with escapes.
    if !RESERVED.is_in(params.get()) && memchr::memchr(b'\\', params.get().as_bytes()).is_none() {
        return false;
    }
    let Ok(params) = Object::of(params) else { return false };
    let Some(meta) = params.get(key::META) else { return false };
    Object::of(meta).is_ok_and(|meta| meta.get(key::PROTOCOL_VERSION).is_some())
}

fn names_modern_version(headers: &HeaderMap) -> bool {
    headers
        .get_all(&headers::PROTOCOL_VERSION)
        .iter()
        .any(|value| value.to_str().is_ok_and(|version| is_date(version) && version >= Revision::LATEST.as_str()))
}

/// Whether a version has the form of a date. Such versions compare as text.
fn is_date(version: &str) -> bool {
    version.len() == 10 && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}
