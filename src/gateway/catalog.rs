//! A new snapshot whenever a backend's view changes, or there are other backends.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch};

use crate::backend::Backend;
use crate::model::Snapshot;

/// The backends of a moment, in config order.
#[derive(Default)]
pub(super) struct Members {
    /// Grows whenever the backends are replaced by others.
    pub generation: u64,
    pub backends: Vec<Arc<dyn Backend>>,
}

/// Follows the backends until nobody looks any more. `changes` is told whenever one of them has news, or they are others.
pub(super) fn follow(members: Arc<ArcSwap<Members>>, changes: Arc<Notify>) -> watch::Receiver<Arc<Snapshot>> {
    let (sender, receiver) = watch::channel(Arc::new(look(&members.load(), 1)));
    tokio::spawn(async move {
        let mut version = 1;
        loop {
            tokio::select! {
                () = changes.notified() => {}
                () = sender.closed() => return,
            }
            version += 1;
            let next = look(&members.load(), version);
            sender.send_if_modified(|current| {
                let changed = current.generation != next.generation || current.backends != next.backends;
                if changed {
                    *current = Arc::new(next);
                }
                changed
            });
        }
    });
    receiver
}

fn look(members: &Members, version: u64) -> Snapshot {
    let backends = members.backends.iter().map(|backend| backend.view()).collect();
    Snapshot { version, generation: members.generation, backends }
}
