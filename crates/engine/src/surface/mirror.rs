//! Detects a surface that publishes a single server unchanged. The proxy then declares that server's capabilities and
//! instructions as its own.

use std::sync::Arc;

use proxy_builtins::{Handler, Plan, Published};
use proxy_model::{BackendKind, BackendView, Definition, ItemKind, Snapshot};

/// The only server, if the script publishes all of its items unchanged and nothing else. `None` for a server that has
/// not answered yet: its lists are empty because they are unknown.
pub(crate) fn mirrored(plan: &Plan, snapshot: &Snapshot) -> Option<Arc<BackendView>> {
    let [only] = snapshot.backends.as_slice() else { return None };
    let known = only.kind != BackendKind::Extension && only.info.capabilities.is_object();
    let whole = || ItemKind::ALL.into_iter().all(|kind| is_unchanged(plan.items.of(kind), only.lists.of(kind)));
    (known && plan.passes_all && whole()).then(|| Arc::clone(only))
}

fn is_unchanged(published: &[Published], listed: &[Arc<Definition>]) -> bool {
    let same = |(item, original): (&Published, &Arc<Definition>)| {
        let own = matches!(&item.handler, Handler::Backend(target) if target.name.as_ref() == original.key());
        own && item.completers.is_none()
            && item.refresh.is_none()
            && (Arc::ptr_eq(&item.definition, original) || item.definition == *original)
    };
    published.len() == listed.len() && published.iter().zip(listed).all(same)
}
