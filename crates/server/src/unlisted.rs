//! Resources that are not published: a client knows their URI from a link in a result, or from a tool's user interface.

use std::sync::Arc;

use super::Server;
use super::client::state::Client;
use proxy_engine::surface::Surface;
use proxy_model::{BackendView, ItemKind, UriTemplate};

/// Whether a server lists a resource. A listed resource that the script does not publish is hidden on purpose, so a
/// link must not give access to it.
fn lists(view: &BackendView, uri: &str) -> bool {
    let matches =
        |template: &str| UriTemplate::parse(template).is_some_and(|template| template.variables(uri).is_some());
    view.lists.resources.iter().any(|resource| resource.key() == uri)
        || view.lists.resource_templates.iter().any(|template| matches(template.key()))
}

impl Server {
    /// Learns from the store which server sent this client a link, if the client has it from another process.
    pub(super) async fn learn_link(&self, surface: &Surface, uri: &str, client: &Client) {
        let Some(links) = &client.links else { return };
        let is_known = surface.find(ItemKind::Resource, uri).is_some()
            || surface.owner_of_unlisted(uri).is_some()
            || links.server_of(uri).is_some();
        if is_known || !client.is_known_elsewhere() {
            return;
        }
        if let Some(server) = self.replicas.link(&client.link_owner(), uri).await {
            links.add(&server, &[uri.to_owned()]);
        }
    }

    /// The server of a resource that is not published: the server whose tool has it as user interface, or the server
    /// that sent this client a link to it.
    pub(super) fn server_of_unlisted(&self, surface: &Surface, uri: &str, client: &Client) -> Option<Arc<str>> {
        if surface.find(ItemKind::Resource, uri).is_some() {
            return None;
        }
        let linked = || {
            let server = client.links.as_ref()?.server_of(uri)?;
            let snapshot = self.gateway.snapshot();
            let is_unlisted = |view: Option<&Arc<BackendView>>| view.is_some_and(|view| !lists(view, uri));
            // What the server lists now, and what it lists for this person.
            let views = [snapshot.backend(&server), surface.origin().backend(&server)];
            views.into_iter().all(is_unlisted).then_some(server)
        };
        surface.owner_of_unlisted(uri).cloned().or_else(linked)
    }
}
