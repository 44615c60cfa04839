//! The catalog: a new snapshot whenever the view of a backend changes or the set of backends is replaced.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch};

use proxy_mcp_client::Backend;
use proxy_model::Snapshot;

/// The backends of one moment, in config order.
#[derive(Default)]
pub(super) struct BackendMembers {
    /// Increases whenever the set of backends is replaced.
    pub(super) generation: u64,
    pub(super) backends: Vec<Arc<dyn Backend>>,
    /// Whether everybody has a connection of their own to one of them. Asked for every request.
    pub(super) has_per_person: bool,
}

impl BackendMembers {
    pub(super) fn new(generation: u64, backends: Vec<Arc<dyn Backend>>) -> Self {
        let has_per_person = backends.iter().any(|backend| backend.per_person().is_some());
        BackendMembers { generation, backends, has_per_person }
    }
}

/// Publishes snapshots until every receiver has been dropped. `changes` must be notified whenever a backend's view
/// changes or `members` is replaced.
pub(super) fn follow(members: Arc<ArcSwap<BackendMembers>>, changes: Arc<Notify>) -> watch::Receiver<Arc<Snapshot>> {
    let (sender, receiver) = watch::channel(Arc::new(take_snapshot(&members.load(), 1)));
    tokio::spawn(async move {
        let mut version = 1;
        loop {
            tokio::select! {
                () = changes.notified() => {}
                () = sender.closed() => return,
            }
            version += 1;
            let next = take_snapshot(&members.load(), version);
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

fn take_snapshot(members: &BackendMembers, version: u64) -> Snapshot {
    let backends = members.backends.iter().map(|backend| backend.view()).collect();
    Snapshot { version, generation: members.generation, backends }
}
