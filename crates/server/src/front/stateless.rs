//! Validates stateless requests. Each request carries the client's protocol version, capabilities and info in `_meta`.

use std::sync::Arc;

use ::http::{HeaderMap, HeaderName, StatusCode};
use serde_json::json;

use super::refusal::Refusal;
use crate::client::log_level::ClientLogLevel;
use crate::client::state::{Client, ClientKind, HttpFacts, surface_handle};
use crate::methods::initialize::client_info_too_large;
use proxy_engine::surface::Surface;
use proxy_json::{Object, Raw, RawRef};
use proxy_model::{Abilities, ClientInfo, ClientProfile, ItemKind, Owner, Principal};
use proxy_wire::{ClientMeta, LoggingLevel, Request, Revision, RpcError, code, headers, key, params};

/// The HTTP status for the outcome of a request. Used only if the response has not started yet.
pub(crate) fn status(outcome: &Result<Raw, RpcError>) -> StatusCode {
    match outcome {
        Ok(_) => StatusCode::OK,
        Err(error) => match error.code() {
            code::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
            code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        },
    }
}

/// Validates a request in the order that MCP specifies, and stops at the first failure. Without headers (stdio), header
/// checks are skipped. `connection` is the owner of all requests on a stdio connection.
pub(super) fn admit(
    request: &Request,
    sent: Option<&HeaderMap>,
    principal: Principal,
    connection: Option<Owner>,
) -> Result<Client, Refusal> {
    let body = request.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
    let object = Object::of(body).map_err(|error| bad(code::INVALID_PARAMS, &error.to_string()))?;
    let meta = ClientMeta::read(&object).map_err(Refusal::bad_request)?;
    let text = meta.version.and_then(RawRef::text);
    let version = text.as_deref().ok_or_else(|| missing(key::PROTOCOL_VERSION, "a string"))?;
    match meta.capabilities {
        Some(capabilities) if capabilities.get().starts_with('{') => {}
        _ => return Err(missing(key::CLIENT_CAPABILITIES, "an object")),
    }
    if let Some(sent) = sent {
        check_version_header(sent, version)?;
    }
    let revision = Revision::parse(version).filter(|revision| revision.is_stateless());
    let Some(revision) = revision else { return Err(unsupported(version)) };
    if let Some(sent) = sent {
        check_standard_headers(sent, request, &object)?;
    }
    if !request.kind.is_in(revision) {
        return Err(Refusal { status: StatusCode::NOT_FOUND, error: RpcError::method_not_found(&request.method) });
    }
    let level = match meta.log_level {
        None => None,
        Some(level) => {
            let level = level.text();
            let unknown = || bad(code::INVALID_PARAMS, &format!("`{}` is not a log level", key::LOG_LEVEL));
            Some(level.as_deref().and_then(LoggingLevel::parse).ok_or_else(unknown)?)
        }
    };
    let owner = match (&connection, principal.is_anonymous()) {
        (Some(connection), _) => connection.clone(),
        (None, true) => Owner::new_request(),
        (None, false) => Owner::Person(principal.who.clone()),
    };
    let info = ClientInfo::new(revision.as_str(), meta.client_info, meta.capabilities).map_err(|size| {
        let names = format!("`{}` and `{}`", key::CLIENT_INFO, key::CLIENT_CAPABILITIES);
        Refusal::bad_request(client_info_too_large(&names, size))
    })?;
    let info = Arc::new(info);
    let abilities = abilities(info.capabilities.as_deref());
    Ok(Client {
        revision,
        surface_handle: surface_handle(&principal, &info, ClientProfile { era: revision.era(), abilities }),
        principal,
        owner,
        abilities,
        info,
        level: ClientLogLevel::Request(level),
        links: None,
        facts: HttpFacts::default(),
        kind: ClientKind::Stateless,
    })
}

/// The client's abilities. Most clients declare `{}`, which is not parsed.
fn abilities(declared: Option<&RawRef>) -> Abilities {
    match declared.map(RawRef::get) {
        None | Some("{}") => Abilities::default(),
        Some(text) => Abilities::read(&serde_json::from_str(text).unwrap_or_default()),
    }
}

fn bad(code: i64, message: &str) -> Refusal {
    Refusal::bad_request(RpcError::new(code, message))
}

fn missing(name: &str, kind: &str) -> Refusal {
    let message = format!(
        "`params._meta[\"{name}\"]` must be {kind}; protocol versions that use `initialize` instead: {}",
        Revision::supported_names()[1..].join(", ")
    );
    bad(code::INVALID_PARAMS, &message)
}

fn unsupported(version: &str) -> Refusal {
    let data = json!({"supported": Revision::supported_names(), "requested": version});
    let error = RpcError::with_data(code::UNSUPPORTED_VERSION, "unsupported protocol version", &data);
    Refusal::bad_request(error)
}

/// The value of a header that may occur once. Duplicates are rejected, because intermediaries may read another value.
fn single<'a>(sent: &'a HeaderMap, name: &HeaderName, display_name: &str) -> Result<Option<&'a [u8]>, Refusal> {
    let mut values = sent.get_all(name).iter();
    let first = values.next().map(|value| value.as_bytes());
    if values.next().is_some() {
        return Err(bad(code::HEADER_MISMATCH, &format!("the `{display_name}` header occurs more than once")));
    }
    Ok(first)
}

fn check_version_header(sent: &HeaderMap, version: &str) -> Result<(), Refusal> {
    match single(sent, &headers::PROTOCOL_VERSION, "MCP-Protocol-Version")? {
        None => Err(bad(code::HEADER_MISMATCH, "the `MCP-Protocol-Version` header is missing")),
        Some(value) if value.trim_ascii() == version.as_bytes() => Ok(()),
        Some(_) => Err(bad(code::HEADER_MISMATCH, "the `MCP-Protocol-Version` header differs from `_meta`")),
    }
}

fn check_standard_headers(sent: &HeaderMap, request: &Request, object: &Object<'_>) -> Result<(), Refusal> {
    match single(sent, &headers::METHOD, "Mcp-Method")? {
        None => return Err(bad(code::HEADER_MISMATCH, "the `Mcp-Method` header is missing")),
        Some(value) if value.trim_ascii() != request.method.as_bytes() => {
            return Err(bad(code::HEADER_MISMATCH, "the `Mcp-Method` header differs from `method`"));
        }
        Some(_) => {}
    }
    let Some(member) = headers::name_member(&request.method) else { return Ok(()) };
    let value = single(sent, &headers::NAME, "Mcp-Name")?
        .ok_or_else(|| bad(code::HEADER_MISMATCH, "the `Mcp-Name` header is missing"))?;
    if headers::decode(value) == object.get(member).and_then(RawRef::text) {
        return Ok(());
    }
    Err(bad(code::HEADER_MISMATCH, &format!("the `Mcp-Name` header differs from `params.{member}`")))
}

/// Compares the `Mcp-Param-*` headers with the arguments, according to the tool's input schema in this surface.
pub(super) fn check_param_headers(
    request: &Request,
    sent: &HeaderMap,
    surface: &Surface,
    client: &ClientInfo,
) -> Result<(), Refusal> {
    if !surface.has_param_headers() {
        return Ok(());
    }
    let Some(Ok(object)) = request.params.as_deref().map(Object::of) else { return Ok(()) };
    let Some(name) = object.string("name") else { return Ok(()) };
    let dialect = surface.dialect_of(client).map(|dialect| &**dialect);
    let name = surface.key_for(dialect, ItemKind::Tool, &name);
    let Some(entry) = surface.tool(name) else { return Ok(()) };
    if entry.param_headers().is_empty() {
        return Ok(());
    }
    let renamed = surface.published_arguments(dialect, name, &object);
    let renamed = renamed.map_err(|problem| bad(code::INVALID_PARAMS, &format!("`arguments`: {problem}")))?;
    params::check(entry.param_headers(), renamed.as_deref().or_else(|| object.get("arguments")), |name| {
        sent.get_all(name).iter().map(|value| value.as_bytes()).collect()
    })
    .map_err(|reason| bad(code::HEADER_MISMATCH, &reason))
}
