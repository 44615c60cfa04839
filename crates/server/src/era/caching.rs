//! The cache hints `ttlMs` and `cacheScope` in results for stateless clients.

use super::encode_for;
use proxy_json::{Object, Raw, RawRef, raw};
use proxy_mcp_client::CacheHint;
use proxy_wire::{Revision, RpcError};

const PUBLIC: &RawRef = RawRef::string_literal("\"public\"");
const PRIVATE: &RawRef = RawRef::string_literal("\"private\"");

/// Adds cache hints to a list.
pub(crate) fn list(revision: Revision, body: &RawRef, cache_hint: CacheHint) -> Result<Raw, RpcError> {
    let object = Object::of(body).map_err(|error| RpcError::internal(&error.to_string()))?;
    let scope = if cache_hint.public { PUBLIC } else { PRIVATE };
    let mut edit = object.edit();
    edit.set("ttlMs", &raw(&cache_hint.ttl.as_millis())).set("cacheScope", scope);
    encode_for::result(revision, edit.finish_raw())
}

/// A result that only this client may cache.
pub(crate) fn private(result: &Object<'_>) -> Raw {
    result.edit().set("cacheScope", PRIVATE).finish_raw()
}

/// Adds cache hints to the result of `resources/read`. Only hints of a stateless server are passed on; any other result
/// is private and expires at once.
pub(crate) fn contents(revision: Revision, body: Raw) -> Result<Raw, RpcError> {
    if !revision.is_stateless() {
        return encode_for::result(revision, body);
    }
    let Ok(object) = Object::of(&body) else { return encode_for::result(revision, body) };
    let kind = object.get("resultType").map(|_| object.string("resultType").unwrap_or_default());
    let mut edit = object.edit();
    match kind.as_deref() {
        Some("complete") => {
            if object.get("ttlMs").is_none_or(|ttl| ttl.get().parse::<u64>().is_err()) {
                edit.set("ttlMs", RawRef::ZERO);
            }
            if !matches!(object.string("cacheScope").as_deref(), Some("public" | "private")) {
                edit.set("cacheScope", PRIVATE);
            }
        }
        None => {
            edit.set("ttlMs", RawRef::ZERO).set("cacheScope", PRIVATE);
        }
        // `input_required` and other types are not final results and have no cache hints.
        Some(_) => {}
    }
    let body = if edit.is_empty() { body.clone() } else { edit.finish_raw() };
    encode_for::result(revision, body)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn cache_hints(text: &str) -> Value {
        let converted = contents(Revision::V2026_07_28, proxy_json::valid(text.to_owned()).unwrap()).unwrap();
        let converted: Value = serde_json::from_str(converted.get()).unwrap();
        json!([converted.get("ttlMs"), converted.get("cacheScope")])
    }

    #[test]
    fn only_valid_hints_of_a_stateless_server_are_passed_on() {
        let valid = r#"{"contents":[],"resultType":"complete","ttlMs":5000,"cacheScope":"public"}"#;
        assert_eq!(cache_hints(valid), json!([5000, "public"]));
        assert_eq!(cache_hints(r#"{"contents":[],"ttlMs":5000,"cacheScope":"public"}"#), json!([0, "private"]));
        let odd = r#"{"contents":[],"resultType":"complete","ttlMs":-5,"cacheScope":"mine"}"#;
        assert_eq!(cache_hints(odd), json!([0, "private"]));
        let question = r#"{"resultType":"input_required","inputRequests":{}}"#;
        assert_eq!(cache_hints(question), json!([null, null]));
    }
}
