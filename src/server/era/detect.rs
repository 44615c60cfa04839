//! Which era a request belongs to.

use ::http::HeaderMap;

use crate::json::Object;
use crate::wire::{Request, Revision, headers, key};

/// A request is stateless if it carries the modern `_meta`, names a modern version in its headers, or is the method
/// only that era has. A bare `Mcp-Method` decides nothing.
pub(crate) fn is_stateless(request: &Request, headers: Option<&HeaderMap>) -> bool {
    request.method == "server/discover" || headers.is_some_and(names_modern_version) || has_modern_meta(request)
}

fn has_modern_meta(request: &Request) -> bool {
    let Some(params) = &request.params else { return false };
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

/// Versions are dates, and compare as text.
fn is_date(version: &str) -> bool {
    version.len() == 10 && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}
