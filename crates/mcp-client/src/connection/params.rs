//! Adds the `_meta` members that the server's revision requires to the params of a request.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::json;
use smallvec::SmallVec;

use proxy_json::{Needle, Object, Raw, RawRef, raw};
use proxy_wire::{LoggingLevel, Revision, key};

/// The `_meta` members that are added to those of the client.
#[derive(Debug, Default)]
pub(super) struct MetaAdditions {
    pub(super) progress_token: Option<u64>,
    pub(super) stateless: Option<StatelessMeta>,
}

/// The members that a stateless server gets with every request.
#[derive(Debug)]
pub(super) struct StatelessMeta {
    pub(super) revision: Revision,
    /// The capabilities of the client. `None` if the proxy makes the request for itself.
    pub(super) capabilities: Option<Raw>,
    pub(super) log_level: Option<LoggingLevel>,
}

/// The proxy's `clientInfo`.
pub(super) static CLIENT_INFO: LazyLock<Raw> =
    LazyLock::new(|| raw(&json!({"name": proxy_base::NAME, "version": proxy_base::VERSION})));

/// The params to send. They are unchanged, byte for byte, if nothing has to be added or removed.
pub(super) fn with_meta(body: &RawRef, additions: &MetaAdditions) -> String {
    let mut members: SmallVec<[(&str, Cow<'_, RawRef>); 5]> = SmallVec::new();
    if let Some(stateless) = &additions.stateless {
        members.push((key::PROTOCOL_VERSION, Cow::Borrowed(stateless.revision.as_raw())));
        members.push((key::CLIENT_INFO, Cow::Borrowed(&**CLIENT_INFO)));
        let capabilities = stateless.capabilities.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
        members.push((key::CLIENT_CAPABILITIES, Cow::Borrowed(capabilities)));
        if let Some(level) = stateless.log_level {
            members.push((key::LOG_LEVEL, Cow::Owned(raw(level.as_str()))));
        }
    }
    if let Some(token) = additions.progress_token {
        members.push((key::PROGRESS_TOKEN, Cow::Owned(raw(&token))));
    }
    if members.is_empty() {
        return without_input_responses(body);
    }
    // Params that are not an object cannot carry `_meta`. They are sent as they are, for the server to refuse.
    let Ok(object) = Object::of(body) else { return body.get().to_owned() };
    let meta = match object.get(key::META).map(Object::of) {
        Some(Ok(meta)) => {
            let mut edit = meta.edit();
            for (name, value) in &members {
                edit.set(name, value);
            }
            edit.finish_raw()
        }
        _ => proxy_json::object(members),
    };
    let mut edit = object.edit();
    if additions.stateless.is_none() {
        edit.remove("inputResponses").remove("requestState");
    }
    edit.set(key::META, &meta).finish()
}

/// Removes the members that only stateless servers know.
fn without_input_responses(body: &RawRef) -> String {
    let text = body.get();
    static RESPONSES: Needle = Needle::new("inputResponses");
    static STATE: Needle = Needle::new("requestState");
    if !RESPONSES.is_in(text) && !STATE.is_in(text) {
        return text.to_owned();
    }
    match Object::of(body) {
        Ok(object) => object.edit().remove("inputResponses").remove("requestState").finish(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_based_backend_gets_the_bytes_that_came() {
        let body = proxy_json::valid(r#"{ "name":"x" }"#.to_owned()).unwrap();
        assert_eq!(with_meta(&body, &MetaAdditions::default()), r#"{ "name":"x" }"#);
    }

    #[test]
    fn the_clients_own_meta_stays_beside_ours() {
        let body = proxy_json::valid(r#"{"_meta":{"a/b":1.0},"name":"x"}"#.to_owned()).unwrap();
        let text = with_meta(&body, &MetaAdditions { progress_token: Some(7), ..MetaAdditions::default() });
        assert_eq!(text, r#"{"_meta":{"a/b":1.0,"progressToken":7},"name":"x"}"#);
    }
}
