//! What the servers have and the script lets nobody see, as far as that looks like a mistake.

use crate::diagnostic::Diagnostic;
use crate::model::ItemKind;
use crate::model::Snapshot;
use crate::surface::Surface;

/// Kinds of which there is something and nothing is published.
pub fn unpublished(surface: &Surface, snapshot: &Snapshot) -> Vec<Diagnostic> {
    ItemKind::ALL.into_iter().filter_map(|kind| gap(kind, surface, snapshot)).collect()
}

fn gap(kind: ItemKind, surface: &Surface, snapshot: &Snapshot) -> Option<Diagnostic> {
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
            .hint("`publish(meta, call)` for each tool that clients may use: nothing is published by itself"),
        _ => Diagnostic::warning(format!("{offered} {nouns} of {servers} {are} neither published nor passed through"))
            .rule("unpublished-kind")
            .hint("`passthrough()` publishes resources and prompts as they are"),
    })
}
