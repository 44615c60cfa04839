//! A request's params with the `_meta` a backend's era needs.

use crate::json::{Needle, Object, RawRef, quote};
use crate::wire::{Revision, Severity, key};

/// What goes into `_meta` beside what the client's own `_meta` carried.
#[derive(Debug, Default)]
pub(crate) struct Additions {
    pub(crate) progress_token: Option<u64>,
    pub(crate) stateless: Option<Stateless>,
}

/// What a stateless server is told with every request.
#[derive(Debug)]
pub(crate) struct Stateless {
    pub(crate) revision: Revision,
    /// What the client can do; nothing if there is none.
    pub(crate) capabilities: Option<String>,
    pub(crate) log_level: Option<Severity>,
}

/// Who we say we are.
pub(crate) const CLIENT_INFO: &str =
    concat!("{\"name\":\"starlark-mcp-proxy\",\"version\":\"", env!("CARGO_PKG_VERSION"), "\"}");

/// The params to send. Untouched bytes where nothing has to be added.
pub(crate) fn params(body: &RawRef, additions: &Additions) -> String {
    let mut members: Vec<(&str, String)> = Vec::new();
    if let Some(stateless) = &additions.stateless {
        members.push((key::PROTOCOL_VERSION, quote(stateless.revision.as_str())));
        members.push((key::CLIENT_INFO, CLIENT_INFO.to_owned()));
        members.push((key::CLIENT_CAPABILITIES, stateless.capabilities.clone().unwrap_or_else(|| "{}".to_owned())));
        if let Some(level) = stateless.log_level {
            members.push((key::LOG_LEVEL, quote(level.as_str())));
        }
    }
    if let Some(token) = additions.progress_token {
        members.push((key::PROGRESS_TOKEN, token.to_string()));
    }
    if members.is_empty() {
        return without_rounds(body);
    }
    // Params that are no object (an array, say) cannot carry `_meta`; the backend will say what it thinks of them.
    let Ok(object) = Object::of(body) else { return body.get().to_owned() };
    let meta = match object.get(key::META).map(Object::of) {
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
    let mut edit = object.edit();
    if additions.stateless.is_none() {
        edit.remove("inputResponses").remove("requestState");
    }
    edit.set(key::META, meta).finish()
}

/// Only stateless servers know of rounds.
fn without_rounds(body: &RawRef) -> String {
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
