//! The lists: in pages where they are long, with what a client may do with them.

use serde_json::Value;

use crate::json::{Object, Raw, RawRef, quote};
use crate::model::{ItemKind, Principal};
use crate::seal::Purpose;
use crate::server::Server;
use crate::server::client::client::Asked;
use crate::server::era::caching;
use crate::wire::{Request, RpcError};

/// Longer lists are cut. Many clients never ask for a second page, so one holds what anybody has.
const PAGE: usize = 1000;

impl Server {
    /// A page of a list, with the members the client's revision asks for.
    pub(crate) async fn list(&self, kind: ItemKind, asked: &Asked<'_>) -> Result<Raw, RpcError> {
        let client = asked.client;
        let behind = match cursor(asked.request)? {
            Some(cursor) => Some(self.opened_cursor(kind, &client.principal, &cursor).ok_or_else(unknown_cursor)?),
            None => None,
        };
        if behind.is_none() {
            self.gateway.refresh(kind, &client.view).await;
        }
        let surface = self.surface(client).await?;
        let page = surface.page(kind, client.revision, behind.as_deref(), PAGE).ok_or_else(unknown_cursor)?;
        let next = match page.last.and_then(|last| surface.key_at(kind, last)) {
            Some(last) => format!(",\"nextCursor\":{}", quote(&self.sealed_cursor(kind, &client.principal, last)?)),
            None => String::new(),
        };
        let result = format!("{{\"{}\":{}{next}}}", kind.list_member(), page.items);
        let result = crate::json::valid(result).map_err(|error| RpcError::internal(&error.to_string()))?;
        if client.revision.is_stateless() {
            caching::list(client.revision, &result, self.gateway.cache_hint(&surface, kind))
        } else {
            Ok(result)
        }
    }

    /// A cursor says which list it is of and what the last item was: the list goes on behind that one, whatever became
    /// of the others meanwhile.
    fn sealed_cursor(&self, kind: ItemKind, principal: &Principal, last: &str) -> Result<String, RpcError> {
        let content = format!("{}\n{last}", kind.list_member());
        let sealed = self.sealer.seal(Purpose::Cursor, &owner(principal), content.as_bytes());
        sealed.map_err(|error| RpcError::internal(&error.to_string()))
    }

    fn opened_cursor(&self, kind: ItemKind, principal: &Principal, cursor: &str) -> Option<String> {
        let content = self.sealer.open(Purpose::Cursor, &owner(principal), cursor)?;
        let content = String::from_utf8(content).ok()?;
        let (member, last) = content.split_once('\n')?;
        (member == kind.list_member()).then(|| last.to_owned())
    }
}

fn owner(principal: &Principal) -> String {
    format!("{}\n{}", principal.anonymous, principal.sub)
}

fn cursor(request: &Request) -> Result<Option<String>, RpcError> {
    let body = request.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
    let params = Object::of(body).map_err(|error| RpcError::invalid_params(&error.to_string()))?;
    let Some(cursor) = params.get("cursor") else { return Ok(None) };
    match serde_json::from_str(cursor.get()) {
        Ok(Value::String(cursor)) => Ok(Some(cursor)),
        // What many clients write where they have none.
        Ok(Value::Null) => Ok(None),
        _ => Err(RpcError::invalid_params("`cursor` must be a string")),
    }
}

fn unknown_cursor() -> RpcError {
    RpcError::invalid_params("unknown `cursor`: list from the start")
}
