//! Between a use of something published and what the client is told of it.

use std::sync::Arc;

use crate::calls::CallFault;
use crate::json::Raw;
use crate::model::{BackendView, ItemKind, UriTemplate};
use crate::server::Server;
use crate::server::client::client::Client;
use crate::server::era::{blocks, missing_capability};
use crate::surface::Surface;

/// Whether a server offers a resource by itself. Where such a one is not published the script does not want it to be
/// read, and a link is no way around that.
fn offers(view: &BackendView, uri: &str) -> bool {
    let fits = |template: &str| UriTemplate::parse(template).is_some_and(|template| template.variables(uri).is_some());
    view.lists.resources.iter().any(|resource| resource.key() == uri)
        || view.lists.resource_templates.iter().any(|template| fits(template.key()))
}

impl Server {
    /// The server that has a resource nobody lists: the one whose tool names it, or that gave this client a link to it.
    pub(crate) fn owner_of_unlisted(
        &self,
        surface: &Surface,
        kind: ItemKind,
        uri: &str,
        client: &Client,
    ) -> Option<Arc<str>> {
        if kind != ItemKind::Resource || surface.find(kind, uri).is_some() {
            return None;
        }
        let linked = || {
            let server = self.links_of(client)?.server_of(uri)?;
            let snapshot = self.gateway.snapshot();
            snapshot.backend(&server).is_some_and(|view| !offers(view, uri)).then_some(server)
        };
        surface.owner_of_unlisted(uri).cloned().or_else(linked)
    }

    /// What came of a use, as far as this client's revision and capabilities have it. Links in it are remembered.
    pub(crate) fn returned(
        &self,
        surface: &Surface,
        kind: ItemKind,
        key: &str,
        client: &Client,
        outcome: Result<Raw, CallFault>,
    ) -> Result<Raw, CallFault> {
        let result = match outcome {
            Ok(result) => result,
            Err(fault) => return missing_capability::settled(client, kind, fault),
        };
        if blocks::has_links(&result)
            && let Some(links) = self.links_of(client)
            && let Some(origin) = surface.find(kind, key).and_then(|entry| entry.origin.as_ref())
        {
            links.remember(&origin.backend, &result);
        }
        Ok(blocks::told(client.revision, kind, result))
    }
}
