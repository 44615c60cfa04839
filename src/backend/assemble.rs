//! A request's params with the `_meta` a backend's era needs.

use crate::json::{Object, RawRef, quote};
use crate::wire::{Revision, key};

/// What goes into `_meta` beside what the client's own `_meta` carried.
#[derive(Debug, Default)]
pub(super) struct Additions<'a> {
    pub(super) progress_token: Option<u64>,
    /// Only for stateless backends.
    pub(super) stateless: Option<Revision>,
    pub(super) capabilities: Option<&'a RawRef>,
    pub(super) log_level: Option<&'a RawRef>,
}

/// Who we say we are.
pub(super) fn client_info() -> String {
    format!("{{\"name\":\"starlark-mcp-proxy\",\"version\":{}}}", quote(env!("CARGO_PKG_VERSION")))
}

/// The params to send. Untouched bytes where nothing has to be added.
pub(super) fn params(body: &RawRef, additions: &Additions<'_>) -> String {
    let mut members: Vec<(&str, String)> = Vec::new();
    if let Some(revision) = additions.stateless {
        members.push((key::PROTOCOL_VERSION, quote(revision.as_str())));
        members.push((key::CLIENT_INFO, client_info()));
        members.push((key::CLIENT_CAPABILITIES, additions.capabilities.map_or("{}", RawRef::get).to_owned()));
        if let Some(level) = additions.log_level {
            members.push((key::LOG_LEVEL, level.get().to_owned()));
        }
    }
    if let Some(token) = additions.progress_token {
        members.push((key::PROGRESS_TOKEN, token.to_string()));
    }
    if members.is_empty() {
        return body.get().to_owned();
    }
    // Params that are no object (an array, say) cannot carry `_meta`; the backend will say what it thinks of them.
    let Ok(object) = Object::parse(body.get()) else { return body.get().to_owned() };
    let meta = match object.get(key::META).map(|meta| Object::parse(meta.get())) {
        Some(Ok(meta)) => {
            let mut edit = meta.edit();
            for (name, value) in members {
                edit.set(name, value);
            }
            edit.finish()
        }
        _ => {
            let members: Vec<String> =
                members.into_iter().map(|(name, value)| format!("{}:{value}", quote(name))).collect();
            format!("{{{}}}", members.join(","))
        }
    };
    object.edit().set(key::META, meta).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_based_backend_gets_the_bytes_that_came() {
        let body = crate::json::valid(r#"{ "name":"x" }"#.to_owned()).unwrap();
        assert_eq!(params(&body, &Additions::default()), r#"{ "name":"x" }"#);
    }

    #[test]
    fn the_clients_own_meta_stays_beside_ours() {
        let body = crate::json::valid(r#"{"_meta":{"a/b":1.0},"name":"x"}"#.to_owned()).unwrap();
        let text = params(&body, &Additions { progress_token: Some(7), ..Additions::default() });
        assert_eq!(text, r#"{"_meta":{"a/b":1.0,"progressToken":7},"name":"x"}"#);
    }
}
