//! Warns if servers have items of some kind and the script publishes none of them.

use proxy_base::diagnostic::Diagnostic;
use proxy_engine::surface::Surface;
use proxy_model::{ItemKind, Snapshot};

/// A warning for each kind of which the servers have items and the script publishes none.
pub fn unpublished(surface: &Surface, snapshot: &Snapshot) -> Vec<Diagnostic> {
    ItemKind::ALL.into_iter().filter_map(|kind| unpublished_kind(kind, surface, snapshot)).collect()
}

fn unpublished_kind(kind: ItemKind, surface: &Surface, snapshot: &Snapshot) -> Option<Diagnostic> {
    let offering: Vec<_> = snapshot.backends.iter().filter(|backend| !backend.lists.of(kind).is_empty()).collect();
    let offered: usize = offering.iter().map(|backend| backend.lists.of(kind).len()).sum();
    if offered == 0 || surface.entries(kind).next().is_some() {
        return None;
    }
    let servers: Vec<String> = offering.iter().map(|backend| format!("`{}`", backend.name)).collect();
    let (noun, servers) = (kind.noun(), servers.join(", "));
    let nouns = if offered == 1 { noun.to_owned() } else { format!("{noun}s") };
    let are = if offered == 1 { "is" } else { "are" };
    Some(match kind {
        ItemKind::Tool => Diagnostic::warning(format!("0 of the {offered} {nouns} of {servers} {are} published"))
            .rule("nothing-published")
            .hint("nothing is published automatically: call `publish(meta, call)` for each tool that clients may use"),
        _ => Diagnostic::warning(format!("{offered} {nouns} of {servers} {are} neither published nor passed through"))
            .rule("unpublished-kind")
            .hint("call `passthrough()` to publish resources and prompts unchanged"),
    })
}
