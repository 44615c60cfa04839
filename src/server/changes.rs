//! When what a client sees has really changed.

use std::sync::Arc;

use tokio::sync::watch;

use crate::gateway::{Current, Gateway};

/// Follows the list of tools.
#[derive(Debug)]
pub(super) struct Tools {
    current: watch::Receiver<Current>,
    seen: Option<Arc<str>>,
}

impl Tools {
    /// From now on.
    pub(super) fn of(gateway: &Gateway) -> Self {
        let mut current = gateway.watch();
        let seen = list(&current.borrow_and_update());
        Tools { current, seen }
    }

    /// Ends when the list differs from the one last seen; `false` when there will be no more. The very first list is
    /// no change: nobody has seen another.
    pub(super) async fn changed(&mut self) -> bool {
        while self.current.changed().await.is_ok() {
            let now = list(&self.current.borrow_and_update());
            let changed = self.seen.is_some() && now != self.seen;
            self.seen = now;
            if changed {
                return true;
            }
        }
        false
    }
}

fn list(current: &Current) -> Option<Arc<str>> {
    current.surface.as_ref().map(|surface| Arc::clone(surface.tool_list()))
}
