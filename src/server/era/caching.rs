//! For how long and for whom a stateless client may keep a result.

use super::encode_for;
use crate::backend::CacheHint;
use crate::json::{Object, Raw, RawRef, raw};
use crate::wire::{Revision, RpcError};

const PUBLIC: &RawRef = RawRef::string_literal("\"public\"");
const PRIVATE: &RawRef = RawRef::string_literal("\"private\"");

/// A list, with what holds for all of its parts.
pub(crate) fn list(revision: Revision, body: &RawRef, cache_hint: CacheHint) -> Result<Raw, RpcError> {
    let object = Object::of(body).map_err(|error| RpcError::internal(&error.to_string()))?;
    let scope = if cache_hint.public { PUBLIC } else { PRIVATE };
    let mut edit = object.edit();
    edit.set("ttlMs", &raw(&cache_hint.ttl.as_millis())).set("cacheScope", scope);
    encode_for::result(revision, edit.finish_raw())
}

/// What a resource was found to be. Only a stateless server can say that it may be kept; all else is for this client,
/// and old at once.
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
        // A question is no result yet, and nothing to keep.
        Some(_) => {}
    }
    let body = if edit.is_empty() { body.clone() } else { edit.finish_raw() };
    encode_for::result(revision, body)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn kept(text: &str) -> Value {
        let told = contents(Revision::V2026_07_28, crate::json::valid(text.to_owned()).unwrap()).unwrap();
        let told: Value = serde_json::from_str(told.get()).unwrap();
        json!([told.get("ttlMs"), told.get("cacheScope")])
    }

    #[test]
    fn only_a_stateless_server_s_own_word_is_passed_on_and_only_if_it_is_one() {
        let said = r#"{"contents":[],"resultType":"complete","ttlMs":5000,"cacheScope":"public"}"#;
        assert_eq!(kept(said), json!([5000, "public"]));
        assert_eq!(kept(r#"{"contents":[],"ttlMs":5000,"cacheScope":"public"}"#), json!([0, "private"]));
        let odd = r#"{"contents":[],"resultType":"complete","ttlMs":-5,"cacheScope":"mine"}"#;
        assert_eq!(kept(odd), json!([0, "private"]));
        let question = r#"{"resultType":"input_required","inputRequests":{}}"#;
        assert_eq!(kept(question), json!([null, null]));
    }
}
