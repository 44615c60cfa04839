//! `tools/list`, `resources/list`, `resources/templates/list` and `prompts/list`, in pages.

use std::sync::Arc;

use serde_json::Value;

use super::kept_results;
use crate::Server;
use crate::client::state::Client;
use crate::era::caching;
use proxy_base::seal::Purpose;
use proxy_engine::calls::RequestContext;
use proxy_json::{Object, Raw, RawRef, quote};
use proxy_model::{ItemKind, Owner, Principal};
use proxy_wire::{Request, RpcError};

/// The number of items per page. Many clients never request a second page, so one page should hold everything.
const PAGE_SIZE: usize = 1000;

/// Fetches an expired list from its server again. Only requests for the first page do this.
pub(super) async fn refresh(server: &Server, client: &Client, kind: ItemKind, message: &Request) {
    if cursor(message).is_ok_and(|cursor| cursor.is_none()) {
        server.gateway.refresh(kind, &client.surface_handle).await;
    }
}

/// Makes the list of tools for what the client accepts, if this request is the first for it.
pub(super) async fn lower(client: &Client, request: &RequestContext, kind: ItemKind) {
    let Some(dialect) = &request.dialect else { return };
    if kind != ItemKind::Tool || request.surface.has_lowered(dialect, client.revision) {
        return;
    }
    // Thousands of tools, or large schemas, must not delay other clients.
    let surface = Arc::clone(&request.surface);
    let dialect = Arc::clone(dialect);
    let revision = client.revision;
    // Fails only if the runtime stops; then the list is made when it is encoded.
    let _ = tokio::task::spawn_blocking(move || surface.prepare_list(&dialect, revision)).await;
}

/// Returns a page of a list, encoded for the client's revision.
pub(super) fn list(
    server: &Server,
    client: &Client,
    request: &RequestContext,
    kind: ItemKind,
    message: &Request,
) -> Result<Raw, RpcError> {
    let surface = &request.surface;
    let after = match cursor(message)? {
        Some(cursor) => Some(opened_cursor(server, kind, &client.principal, &cursor).ok_or_else(unknown_cursor)?),
        None => None,
    };
    let form = (client.revision, request.dialect.as_deref());
    let page = kept_results::page(server, client, surface, kind, form, after.as_deref(), PAGE_SIZE);
    let page = page.ok_or_else(unknown_cursor)?;
    let next = match page.last.and_then(|last| surface.key_at(kind, last)) {
        Some(last) => format!(",\"nextCursor\":{}", quote(&sealed_cursor(server, kind, &client.principal, last)?)),
        None => String::new(),
    };
    let result = format!("{{\"{}\":{}{next}}}", kind.list_member(), page.items);
    let result = proxy_json::valid(result).map_err(|error| RpcError::internal(&error.to_string()))?;
    if let (Some(session), None) = (client.session(), &after) {
        session.seen_lists.saw(kind, &surface.list_digests());
    }
    if client.revision.is_stateless() {
        let mut hint = server.gateway.cache_hint(surface, kind, client.profile());
        if matches!(kind, ItemKind::Tool | ItemKind::ResourceTemplate) {
            // The list of a client with a limit has other items.
            hint.public &= !server.results.settings().differ_by_client();
        }
        caching::list(client.revision, &result, hint)
    } else {
        Ok(result)
    }
}

/// A cursor contains the list and the key of the last item of the page. The next page begins after that item, even if
/// other items were added or removed.
fn sealed_cursor(server: &Server, kind: ItemKind, principal: &Principal, last: &str) -> Result<String, RpcError> {
    let content = format!("{}\n{last}", kind.list_member());
    let sealed = server.sealer.seal(Purpose::Cursor, &Owner::handle_text(principal), content.as_bytes());
    sealed.map_err(|error| RpcError::internal(&error.to_string()))
}

fn opened_cursor(server: &Server, kind: ItemKind, principal: &Principal, cursor: &str) -> Option<String> {
    let content = server.sealer.open(Purpose::Cursor, &Owner::handle_text(principal), cursor)?;
    let content = String::from_utf8(content).ok()?;
    let (member, last) = content.split_once('\n')?;
    (member == kind.list_member()).then(|| last.to_owned())
}

fn cursor(request: &Request) -> Result<Option<String>, RpcError> {
    let body = request.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
    let params = Object::of(body).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let Some(cursor) = params.get("cursor") else { return Ok(None) };
    match serde_json::from_str(cursor.get()) {
        Ok(Value::String(cursor)) => Ok(Some(cursor)),
        // Many clients send `null` instead of no cursor.
        Ok(Value::Null) => Ok(None),
        _ => Err(RpcError::invalid_params("`cursor` must be a string")),
    }
}

fn unknown_cursor() -> RpcError {
    RpcError::invalid_params("invalid `cursor`: list again from the start")
}
