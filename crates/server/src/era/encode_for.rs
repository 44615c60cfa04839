//! Encodes the results and errors of backends for the client's protocol revision.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::{Value, json};

use proxy_json::{Needle, Object, Raw, RawRef, array, quote, raw};
use proxy_model::{ItemKind, error_result};
use proxy_wire::{Revision, RpcError, code, key, may_have_reserved, without_reserved};

/// The `resultType` of a final result.
pub(crate) const COMPLETE: &RawRef = RawRef::string_literal("\"complete\"");

/// The `serverInfo` of the proxy.
pub(crate) fn server_info() -> serde_json::Value {
    json!({"name": proxy_base::NAME, "version": proxy_base::VERSION})
}

static OWN_INFO: LazyLock<Raw> = LazyLock::new(|| raw(&server_info()));
static OWN_META: LazyLock<Raw> = LazyLock::new(|| raw(&json!({key::SERVER_INFO: server_info()})));

/// Encodes a result for a revision. A result that needs no change is preserved byte for byte.
pub(crate) fn result(revision: Revision, result: Raw) -> Result<Raw, RpcError> {
    if revision.is_stateless() {
        return stateless(&result);
    }
    if !may_need_change(&result) {
        return Ok(result);
    }
    let clean = without_reserved(&result);
    let object = Object::of(&clean).map_err(|_| no_result())?;
    match result_type(&object).as_deref() {
        None if !has_non_object_structure(&object) => Ok(match clean {
            Cow::Borrowed(_) => Raw::clone(&result),
            Cow::Owned(clean) => clean,
        }),
        kind @ (None | Some("complete")) => Ok(session_based(&object, kind.is_some())),
        Some("input_required") => Ok(error_result(
            "the tool requires input, but your protocol version does not support `input_required` results",
        )),
        Some(other) => Err(unknown_type(other)),
    }
}

fn stateless(result: &RawRef) -> Result<Raw, RpcError> {
    let object = Object::of(result).map_err(|_| no_result())?;
    match result_type(&object).as_deref() {
        None | Some("complete" | "input_required" | "task") => Ok(stamped(&object, &key::RESERVED, None)),
        Some(other) => Err(unknown_type(other)),
    }
}

fn result_type(object: &Object<'_>) -> Option<String> {
    object.get("resultType").map(|_| object.string("resultType").unwrap_or_default())
}

fn no_result() -> RpcError {
    RpcError::internal("invalid response from the server: the result is not an object")
}

fn unknown_type(kind: &str) -> RpcError {
    RpcError::internal(&format!("invalid response from the server: unknown `resultType` {}", quote(kind)))
}

/// Whether the structured content is not an object. Only stateless revisions allow this.
fn has_non_object_structure(object: &Object<'_>) -> bool {
    object.get("structuredContent").is_some_and(|content| !content.get().starts_with('{'))
}

/// Removes members that session-based revisions do not define. Structured content that is removed is added as text.
fn session_based(object: &Object<'_>, has_type: bool) -> Raw {
    let mut edit = object.edit();
    if has_type {
        edit.remove("resultType").remove("ttlMs").remove("cacheScope");
    }
    if let Some(structured) = object.get("structuredContent").filter(|_| has_non_object_structure(object)) {
        edit.remove("structuredContent");
        let content = object.get("content").map_or("[]", RawRef::get);
        let blocks: Vec<&RawRef> = serde_json::from_str(content).unwrap_or_default();
        let is_text =
            |block: &&RawRef| Object::of(block).is_ok_and(|block| block.string("type").as_deref() == Some("text"));
        if !blocks.iter().any(is_text) {
            let text = raw(&json!({"type": "text", "text": structured.get()}));
            edit.set("content", &array(blocks.into_iter().chain([&*text])));
        }
    }
    edit.finish_raw()
}

/// Whether a result for a session-based client may need a change. A fast substring search that rules out most results.
fn may_need_change(result: &RawRef) -> bool {
    static TYPE: Needle = Needle::new("resultType");
    static STRUCTURED: Needle = Needle::new("\"structuredContent\"");
    let text = result.get();
    let has_other_structure = || STRUCTURED.has_value(text, |byte| byte != b'{');
    TYPE.is_in(text) || has_other_structure() || may_have_reserved(result) || !text.starts_with('{')
}

/// Adds `resultType` and `serverInfo`, by default the proxy's own, to a result, and removes the keys `without` from its
/// `_meta`.
fn stamped(object: &Object<'_>, without: &[&str], server_info: Option<&RawRef>) -> Raw {
    let mut edit = object.edit();
    if object.get("resultType").is_none() {
        edit.set("resultType", COMPLETE);
    }
    match object.get(key::META).map(Object::of) {
        Some(Ok(meta)) => {
            let mut meta = meta.edit();
            for name in without {
                meta.remove(name);
            }
            let info = server_info.unwrap_or(&OWN_INFO);
            edit.set(key::META, &meta.set(key::SERVER_INFO, info).finish_raw())
        }
        _ => match server_info {
            Some(info) => edit.set(key::META, &proxy_json::object([(key::SERVER_INFO, info)])),
            None => edit.set(key::META, &OWN_META),
        },
    };
    edit.finish_raw()
}

/// Encodes the result of `subscriptions/listen`, which keeps the subscription id in `_meta`.
pub(crate) fn listen_result(revision: Revision, result: &RawRef) -> Result<Raw, RpcError> {
    debug_assert!(revision.is_stateless(), "only stateless revisions have `subscriptions/listen`");
    Object::of(result).map(|object| stamped(&object, &[], None)).map_err(|error| RpcError::internal(&error.to_string()))
}

/// Encodes the result of `server/discover`, which names the server that the client sees.
pub(crate) fn discovery(result: Raw, server_info: &RawRef) -> Result<Raw, RpcError> {
    let stamped = Object::of(&result).map(|object| stamped(&object, &key::RESERVED, Some(server_info)));
    stamped.map_err(|error| RpcError::internal(&error.to_string()))
}

/// Converts an error of a backend for a client. Errors about the connection between the proxy and the backend become
/// internal errors, because the client cannot fix them.
pub(crate) fn error(revision: Revision, kind: ItemKind, key: &str, error: RpcError) -> RpcError {
    let internal = |error: &RpcError| {
        RpcError::with_data(code::INTERNAL, &error.message(), &json!({"code": error.code(), "data": error.data()}))
    };
    let resource = matches!(kind, ItemKind::Resource | ItemKind::ResourceTemplate);
    match error.code() {
        // Stateless and session-based revisions have different codes for this error.
        code::RESOURCE_NOT_FOUND if revision.is_stateless() && resource => with_code(code::INVALID_PARAMS, key, &error),
        code::RESOURCE_NOT_FOUND if revision.is_stateless() => {
            RpcError::with_data(code::INVALID_PARAMS, &error.message(), &error.data().unwrap_or_default())
        }
        code::INVALID_PARAMS if !revision.is_stateless() && resource && names_uri(&error) => {
            with_code(code::RESOURCE_NOT_FOUND, key, &error)
        }
        code::HEADER_MISMATCH | code::UNSUPPORTED_VERSION => internal(&error),
        code::MISSING_CAPABILITY if !revision.is_stateless() => internal(&error),
        -32099..=-32023 if revision.is_stateless() => internal(&error),
        // For a stateless client this code, sent with HTTP 404, would mean that the proxy does not have the method.
        code::METHOD_NOT_FOUND if revision.is_stateless() => internal(&error),
        _ => error,
    }
}

/// A server's error about an unknown resource, with its own text and data and the code of the client's revision. The data
/// names the URI, by which clients tell this error from others.
fn with_code(code: i64, uri: &str, error: &RpcError) -> RpcError {
    let mut data = error.data().filter(Value::is_object).unwrap_or_else(|| json!({}));
    data["uri"] = uri.into();
    RpcError::with_data(code, &error.message(), &data)
}

fn names_uri(error: &RpcError) -> bool {
    error.data().is_some_and(|data| data.get("uri").is_some())
}

/// The error for an unknown resource, with the code of the client's revision.
pub(crate) fn resource_not_found(revision: Revision, uri: &str) -> RpcError {
    let code = if revision.is_stateless() { code::INVALID_PARAMS } else { code::RESOURCE_NOT_FOUND };
    RpcError::with_data(code, "resource not found", &json!({ "uri": uri }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw {
        proxy_json::valid(text.to_owned()).unwrap()
    }

    #[test]
    fn a_session_based_client_gets_plain_results_byte_for_byte() {
        let text = r#"{ "content":[], "x":1.10 , "_meta":{"a":1} }"#;
        assert_eq!(result(Revision::V2025_11_25, raw(text)).unwrap().get(), text);
        let escaped =
            r#"{"content":[],"structuredContent":{},"_meta":{"io.modelcontextprotocol\/serverInfo":{},"a":1.0}}"#;
        let plain = r#"{"content":[],"structuredContent":{},"_meta":{"a":1.0}}"#;
        assert_eq!(result(Revision::V2025_11_25, raw(escaped)).unwrap().get(), plain);
        let modern =
            r#"{"content":[],"resultType":"complete","x":1.10,"_meta":{"io.modelcontextprotocol/serverInfo":{}}}"#;
        assert_eq!(result(Revision::V2025_11_25, raw(modern)).unwrap().get(), r#"{"content":[],"x":1.10}"#);
    }

    #[test]
    fn a_stateless_client_gets_the_type_of_the_result_and_our_name() {
        let converted = result(Revision::V2026_07_28, raw(r#"{"content":[],"x":1.10,"_meta":{"a":1.0}}"#)).unwrap();
        assert!(
            converted
                .get()
                .starts_with(r#"{"content":[],"x":1.10,"_meta":{"a":1.0,"io.modelcontextprotocol/serverInfo":"#)
        );
        assert!(converted.get().ends_with(r#""resultType":"complete"}"#), "{converted}");
    }

    #[test]
    fn structured_content_that_a_revision_lacks_is_left_as_text() {
        let converted = result(Revision::V2025_06_18, raw(r#"{"content":[],"structuredContent":[1.0, 2]}"#)).unwrap();
        assert_eq!(converted.get(), r#"{"content":[{"type":"text","text":"[1.0, 2]"}]}"#);
        let text = r#"{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1.10}}"#;
        assert_eq!(result(Revision::V2025_06_18, raw(text)).unwrap().get(), text);
    }

    #[test]
    fn an_unknown_type_of_result_is_an_error() {
        assert!(result(Revision::V2026_07_28, raw(r#"{"resultType":"what"}"#)).is_err());
    }
}
