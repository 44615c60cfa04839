//! Requests that arrive while servers of which nothing is known are starting. Lists wait for these servers, because some
//! clients list only once. A call waits only if nobody offers its item yet.

use std::sync::Arc;

use super::Server;
use super::client::state::Client;
use crate::backend::Cancellation;
use crate::json::{Object, RawRef};
use crate::model::ItemKind;
use crate::surface::Surface;
use crate::wire::{Request, RpcError};

impl Server {
    /// Waits until lists can be answered; false if the request was cancelled first.
    pub(super) async fn first_lists(&self, client: &Client, cancel: &Cancellation) -> bool {
        let handle = &client.surface_handle;
        if self.gateway.has_first_lists() && self.gateway.knows_first_lists_of(handle) {
            return true;
        }
        let known = async {
            self.gateway.first_lists().await;
            self.gateway.first_lists_of(handle).await;
        };
        let waiting = async {
            tokio::select! {
                () = known => true,
                () = cancel.cancelled() => false,
            }
        };
        Box::pin(waiting).await
    }

    /// The surface for a request other than a list; `None` if the request was cancelled first.
    pub(super) async fn surface_for(
        &self,
        client: &Client,
        message: &Request,
        cancel: &Cancellation,
    ) -> Option<Result<Arc<Surface>, RpcError>> {
        match self.surface(client).await {
            Ok(surface) => self.with_item_of(message, surface, client, cancel).await,
            Err(error) => Some(Err(error)),
        }
    }

    /// The given surface, or a later one if a server that is starting may have the item that a request names; `None` if the
    /// request was cancelled first.
    pub(super) async fn with_item_of(
        &self,
        message: &Request,
        surface: Arc<Surface>,
        client: &Client,
        cancel: &Cancellation,
    ) -> Option<Result<Arc<Surface>, RpcError>> {
        let has_lists = self.gateway.has_first_lists() && self.gateway.has_first_lists_of(&client.surface_handle);
        if has_lists || !names_unpublished_item(&surface, message) {
            return Some(Ok(surface));
        }
        let later = async {
            match self.first_lists(client, cancel).await {
                true => Some(self.surface(client).await),
                false => None,
            }
        };
        Box::pin(later).await
    }
}

/// Whether a request is for an item that the surface does not have.
fn names_unpublished_item(surface: &Surface, message: &Request) -> bool {
    let kind = match message.method.as_str() {
        "tools/call" => ItemKind::Tool,
        "resources/read" | "resources/subscribe" => ItemKind::Resource,
        "prompts/get" => ItemKind::Prompt,
        _ => return false,
    };
    let body = message.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
    let named = Object::of(body).ok().and_then(|params| params.string(kind.use_member()));
    named.is_some_and(|key| surface.find(kind, &key).is_none())
}
