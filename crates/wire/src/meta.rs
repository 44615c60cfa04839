//! `_meta`: the keys that the protocol reserves concern one connection only; all other keys are forwarded.

use std::borrow::Cow;

use super::RpcError;
use proxy_json::{Needle, Object, Raw, RawRef};

/// A part of every reserved key but `progressToken`.
pub static RESERVED: Needle = Needle::new("io.modelcontextprotocol/");
static PROGRESS_TOKEN: Needle = Needle::new(key::PROGRESS_TOKEN);
static META: Needle = Needle::new(key::META);
/// The only kind of escape that can write the letters of a key.
static ESCAPE: Needle = Needle::new("\\u");

/// The reserved keys.
pub mod key {
    pub const META: &str = "_meta";
    pub const PROGRESS_TOKEN: &str = "progressToken";
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

    pub const RESERVED: [&str; 8] = [
        PROGRESS_TOKEN,
        PROTOCOL_VERSION,
        CLIENT_CAPABILITIES,
        CLIENT_INFO,
        LOG_LEVEL,
        SERVER_INFO,
        SUBSCRIPTION_ID,
        RELATED_TASK,
    ];
}

/// The reserved keys that describe the client, as sent with every stateless request.
#[derive(Clone, Debug, Default)]
pub struct ClientMeta<'a> {
    pub version: Option<&'a RawRef>,
    pub capabilities: Option<&'a RawRef>,
    pub client_info: Option<&'a RawRef>,
    pub log_level: Option<&'a RawRef>,
}

impl<'a> ClientMeta<'a> {
    /// Reads `_meta` of a request's params.
    pub fn read(params: &Object<'a>) -> Result<Self, RpcError> {
        let Some(meta) = params.get(key::META) else { return Ok(Self::default()) };
        let meta = Object::of(meta).map_err(|error| RpcError::invalid_params(&format!("`_meta`: {error}")))?;
        Ok(ClientMeta {
            version: meta.get(key::PROTOCOL_VERSION),
            capabilities: meta.get(key::CLIENT_CAPABILITIES),
            client_info: meta.get(key::CLIENT_INFO),
            log_level: meta.get(key::LOG_LEVEL),
        })
    }

    /// The token under which the client wants progress notifications, as the client wrote it.
    pub fn progress_token(meta: &RawRef) -> Result<Option<Raw>, RpcError> {
        if !PROGRESS_TOKEN.is_in(meta.get()) && memchr::memchr(b'\\', meta.get().as_bytes()).is_none() {
            return Ok(None);
        }
        let meta = Object::of(meta).map_err(|error| RpcError::invalid_params(&format!("`_meta`: {error}")))?;
        Ok(meta.get(key::PROGRESS_TOKEN).map(RawRef::to_owned))
    }
}

/// `_meta` without the reserved keys; `None` if no other key is left.
pub fn carried_meta(meta: &RawRef) -> Option<Cow<'_, RawRef>> {
    let object = Object::of(meta).ok()?;
    let mut edit = object.edit();
    for name in key::RESERVED {
        edit.remove(name);
    }
    if edit.is_empty() {
        return Some(Cow::Borrowed(meta));
    }
    let any_left = object.keys().any(|name| !key::RESERVED.contains(&name));
    any_left.then(|| Cow::Owned(edit.finish_raw()))
}

/// Whether a `_meta` may contain reserved keys. A fast substring search that rules out most bodies.
pub fn may_have_reserved(body: &RawRef) -> bool {
    let text = body.get();
    if !META.is_in(text) && !ESCAPE.is_in(text) {
        return false;
    }
    // A key may be written with escapes.
    RESERVED.is_in(text) || PROGRESS_TOKEN.is_in(text) || memchr::memchr(b'\\', text.as_bytes()).is_some()
}

/// Params or a result without the reserved keys of its `_meta`; the same bytes if it has none.
pub fn without_reserved(body: &RawRef) -> Cow<'_, RawRef> {
    if !may_have_reserved(body) {
        return Cow::Borrowed(body);
    }
    let Ok(object) = Object::of(body) else { return Cow::Borrowed(body) };
    let Some(meta) = object.get(key::META) else { return Cow::Borrowed(body) };
    match carried_meta(meta) {
        Some(Cow::Borrowed(_)) => Cow::Borrowed(body),
        Some(Cow::Owned(rest)) => Cow::Owned(object.edit().set(key::META, &rest).finish_raw()),
        None => Cow::Owned(object.edit().remove(key::META).finish_raw()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw {
        proxy_json::valid(text.to_owned()).unwrap()
    }

    #[test]
    fn reserved_keys_are_removed_and_all_others_stay() {
        let body = raw(r#"{"x":1.0,"_meta":{"io.modelcontextprotocol/serverInfo":{},"vendor/k":[1e2]}}"#);
        assert_eq!(without_reserved(&body).get(), r#"{"x":1.0,"_meta":{"vendor/k":[1e2]}}"#);
        for meta in ["_meta", r"\u005fmeta"] {
            let body = raw(&format!(r#"{{"{meta}":{{"progressToken":0}},"x":1}}"#));
            assert_eq!(without_reserved(&body).get(), r#"{"x":1}"#);
            let body = raw(&format!(r#"{{"{meta}":{{"io.modelcontextprotocol\/serverInfo":0}},"x":1}}"#));
            assert_eq!(without_reserved(&body).get(), r#"{"x":1}"#);
        }
    }

    #[test]
    fn a_body_without_reserved_keys_keeps_every_byte() {
        for body in [r#"{ "_meta" : { "a" : 1 } , "text":"\n" }"#, r#"{"_meta":{},"text":"\n"}"#] {
            assert_eq!(without_reserved(&raw(body)).get(), body);
        }
    }
}
