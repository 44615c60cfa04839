//! Requests that arrive while servers of which nothing is known are starting. Lists wait for these servers, because some
//! clients list only once. A call waits only if nobody offers its item yet.

use std::sync::Arc;

use super::Server;
use super::client::state::Client;
use super::methods::kept_results;
use proxy_engine::surface::Surface;
use proxy_json::{Object, RawRef};
use proxy_mcp_client::Cancellation;
use proxy_model::ItemKind;
use proxy_wire::{Request, RpcError};

impl Server {
    /// Waits until lists can be answered; false if the request was cancelled first.
    pub(super) async fn first_lists(&self, client: &Client, cancel: &Cancellation) -> bool {
        let handle = &client.surface_handle;
        let gateway = &self.gateway;
        let view = gateway.view(handle);
        let has_lists = view.has_first_lists() && gateway.has_lists_for(handle.profile());
        if has_lists && gateway.knows_first_lists_of(handle) {
            return true;
        }
        let known = async {
            // The first request of a profile makes its view.
            view.first_lists().await;
            gateway.lists_for(handle).await;
            gateway.first_lists_of(handle).await;
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
        if self.has_all_servers(client) || self.unpublished_item(&surface, message, client).is_none() {
            return Some(Ok(surface));
        }
        let waiting = async {
            tokio::select! {
                later = self.surface_with_item(message, client) => Some(later),
                () = cancel.cancelled() => None,
            }
        };
        Box::pin(waiting).await
    }

    fn has_all_servers(&self, client: &Client) -> bool {
        let handle = &client.surface_handle;
        self.gateway.view(handle).has_all_servers() && self.gateway.has_first_lists_of(handle)
    }

    /// Waits until a server offers the item that a request names, or until no server is starting that might. Fails if that
    /// takes longer than `serve.firstList`; which server it is, is not for the client to know.
    async fn surface_with_item(&self, message: &Request, client: &Client) -> Result<Arc<Surface>, RpcError> {
        let mut changes = self.gateway.surface_versions();
        let published = async {
            loop {
                changes.borrow_and_update();
                let has_all = self.has_all_servers(client);
                let surface = self.surface(client).await?;
                if self.unpublished_item(&surface, message, client).is_none() {
                    return Ok(surface);
                }
                if has_all {
                    // The surface of this client may be older than that.
                    self.gateway.caught_up_for(&client.surface_handle).await;
                    return self.surface(client).await;
                }
                if changes.changed().await.is_err() {
                    return Ok(surface);
                }
            }
        };
        match tokio::time::timeout(self.gateway.first_list_timeout(), published).await {
            Ok(surface) => surface,
            Err(_) => {
                let surface = self.surface(client).await?;
                match self.unpublished_item(&surface, message, client) {
                    Some(item) if !self.has_all_servers(client) => Err(RpcError::invalid_params(&format!(
                        "nothing with the name `{item}` is published, but a server is still starting: try again later"
                    ))),
                    _ => Ok(surface),
                }
            }
        }
    }

    /// The name or URI in a request for an item that a client does not have.
    fn unpublished_item(&self, surface: &Surface, message: &Request, client: &Client) -> Option<String> {
        let kind = message.kind.item_kind()?;
        let body = message.params.as_deref().unwrap_or(RawRef::EMPTY_OBJECT);
        let named = Object::of(body).ok().and_then(|params| params.string(kind.use_member()))?;
        if kept_results::named(self, client, surface, kind, &named).is_some() {
            return None;
        }
        let is_linked = || kind == ItemKind::Resource && self.server_of_unlisted(surface, &named, client).is_some();
        let dialect = surface.dialect_of(&client.info).map(|dialect| &**dialect);
        let is_published = surface.find(kind, surface.key_for(dialect, kind, &named)).is_some();
        (!is_published && !is_linked()).then_some(named)
    }
}
