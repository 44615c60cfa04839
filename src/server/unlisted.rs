//! Resources that no list has: a client knows their URI from a link in a result, or from a tool's user interface.

use std::sync::Arc;

use super::Server;
use super::client::client::Client;
use crate::model::{BackendView, ItemKind, UriTemplate};
use crate::surface::Surface;

/// Whether a server lists a resource. If it does and the script does not publish it, a link must not go around that.
fn offers(view: &BackendView, uri: &str) -> bool {
    let fits = |template: &str| UriTemplate::parse(template).is_some_and(|template| template.variables(uri).is_some());
    view.lists.resources.iter().any(|resource| resource.key() == uri)
        || view.lists.resource_templates.iter().any(|template| fits(template.key()))
}

impl Server {
    /// The server of a resource that is not published: the one whose tool names it, or that gave this client the link.
    pub(super) fn server_of_unlisted(&self, surface: &Surface, uri: &str, client: &Client) -> Option<Arc<str>> {
        if surface.find(ItemKind::Resource, uri).is_some() {
            return None;
        }
        let linked = || {
            let server = client.links.as_ref()?.server_of(uri)?;
            let snapshot = self.gateway.snapshot();
            snapshot.backend(&server).is_some_and(|view| !offers(view, uri)).then_some(server)
        };
        surface.owner_of_unlisted(uri).cloned().or_else(linked)
    }
}
