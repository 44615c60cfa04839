//! A new snapshot whenever a backend's view changes.

use std::sync::Arc;

use tokio::sync::{Notify, watch};

use super::Snapshot;
use crate::backend::Backend;

/// Follows the backends until nobody looks any more. `changes` is told whenever one of them has news.
pub fn follow(backends: Vec<Arc<dyn Backend>>, changes: Arc<Notify>) -> watch::Receiver<Arc<Snapshot>> {
    let (sender, receiver) = watch::channel(Arc::new(look(&backends, 1)));
    tokio::spawn(async move {
        let mut version = 1;
        loop {
            tokio::select! {
                () = changes.notified() => {}
                () = sender.closed() => return,
            }
            version += 1;
            let next = look(&backends, version);
            sender.send_if_modified(|current| {
                let changed = current.backends != next.backends;
                if changed {
                    *current = Arc::new(next);
                }
                changed
            });
        }
    });
    receiver
}

fn look(backends: &[Arc<dyn Backend>], version: u64) -> Snapshot {
    Snapshot { version, backends: backends.iter().map(|backend| backend.view()).collect() }
}
