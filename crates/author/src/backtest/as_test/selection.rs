//! Selects the items that a test's servers offer: if possible, only what the call uses.

use crate::backtest::recording::{CallLine, CatalogLine, OfferedServer};
use proxy_json::{Object, Raw};
use proxy_model::{ItemKind, UriTemplate};

/// Catalogs for the test, the smallest first, the whole one last. `keeps_servers` if the config may name any of them.
pub(super) fn candidates(catalog: &CatalogLine, call: &CallLine, keeps_servers: bool) -> Vec<CatalogLine> {
    let servers: Vec<OfferedServer> = catalog.servers.iter().map(|server| used_items(server, call)).collect();
    let is_used = |server: &OfferedServer| ItemKind::ALL.iter().any(|kind| !server.offer.list(*kind).is_empty());
    let used = servers.iter().filter(|server| is_used(server)).cloned().collect();
    let with = |servers| CatalogLine { servers, ..catalog.clone() };
    let mut candidates = if keeps_servers { Vec::new() } else { vec![with(used)] };
    candidates.extend([with(servers), catalog.clone()]);
    candidates
}

/// The server with the items that the call is about.
fn used_items(server: &OfferedServer, call: &CallLine) -> OfferedServer {
    let called = call.server_calls.iter().filter(|called| called.server == server.name);
    let mut used: Vec<(ItemKind, String)> = called.filter_map(|called| called.item()).collect();
    let origin = call.origin.as_ref().filter(|(origin, _)| *origin == server.name);
    used.extend(origin.map(|(_, name)| (call.kind(), name.clone())));
    let mut reduced = OfferedServer { variants: Vec::new(), ..server.clone() };
    for kind in ItemKind::ALL {
        reduced.offer.list_mut(kind).retain(|definition| {
            used.iter().any(|(used_kind, used_key)| is_item(kind, definition, *used_kind, used_key))
        });
    }
    reduced
}

fn is_item(kind: ItemKind, definition: &Raw, used_kind: ItemKind, used_key: &str) -> bool {
    let key = Object::of(definition).ok().and_then(|object| object.string(kind.key_member())).unwrap_or_default();
    let matches = || UriTemplate::parse(&key).is_some_and(|template| template.variables(used_key).is_some());
    match (kind, used_kind) {
        (ItemKind::ResourceTemplate, ItemKind::Resource) => key == used_key || matches(),
        _ => kind == used_kind && key == used_key,
    }
}
