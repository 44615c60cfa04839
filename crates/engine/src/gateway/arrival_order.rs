//! The order of backends: a late backend comes after those that clients have already seen, regardless of its position in
//! the config. A listed tool therefore keeps its name when a later server has a tool of the same name.

use std::collections::HashMap;
use std::sync::Arc;

use proxy_model::{BackendView, Snapshot};

/// The backends whose items clients can see, by the moment at which their items were first published.
#[derive(Debug, Default)]
pub(super) struct ArrivalOrder {
    moments: HashMap<Arc<str>, u64>,
    next: u64,
}

impl ArrivalOrder {
    /// The snapshot with its backends in the order of their arrival; those that arrived together in config order.
    pub(super) fn sorted(&self, snapshot: &Arc<Snapshot>) -> Arc<Snapshot> {
        let moment = |backend: &Arc<BackendView>| self.moments.get(&backend.name).copied().unwrap_or(u64::MAX);
        if snapshot.backends.is_sorted_by_key(moment) {
            return Arc::clone(snapshot);
        }
        let mut sorted = Snapshot::clone(snapshot);
        sorted.backends.sort_by_key(moment);
        Arc::new(sorted)
    }

    /// Records that clients can see the items of this snapshot from now on. A backend that was removed is forgotten.
    pub(super) fn record(&mut self, snapshot: &Snapshot) {
        self.moments.retain(|name, _| snapshot.backend(name).is_some());
        let has_lists = |backend: &&Arc<BackendView>| backend.status.has_lists();
        for backend in snapshot.backends.iter().filter(has_lists) {
            self.moments.entry(Arc::clone(&backend.name)).or_insert(self.next);
        }
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_model::{BackendKind, Lists, ServerInfo, Status};

    fn snapshot(backends: &[(&str, Status)]) -> Arc<Snapshot> {
        let view = |(name, status): &(&str, Status)| {
            let view = BackendView::ready(name, BackendKind::Stdio, ServerInfo::default(), Lists::default());
            Arc::new(BackendView { status: *status, ..view })
        };
        Arc::new(Snapshot { version: 1, generation: 1, backends: backends.iter().map(view).collect() })
    }

    fn names(order: &ArrivalOrder, snapshot: &Arc<Snapshot>) -> Vec<String> {
        order.sorted(snapshot).backends.iter().map(|backend| backend.name.to_string()).collect()
    }

    #[test]
    fn a_backend_that_comes_late_goes_behind_the_others() {
        use Status::{Cached, Failed, Ready, Starting};
        let mut order = ArrivalOrder::default();
        let first = snapshot(&[("a", Starting), ("b", Cached), ("c", Failed), ("d", Ready)]);
        assert_eq!(names(&order, &first), ["a", "b", "c", "d"]);
        order.record(&first);
        let second = snapshot(&[("a", Starting), ("b", Ready), ("c", Ready), ("d", Ready)]);
        order.record(&second);
        let third = snapshot(&[("a", Ready), ("b", Ready), ("c", Ready), ("d", Failed)]);
        assert_eq!(names(&order, &third), ["b", "d", "c", "a"]);
        // The config decides between those that came together, and a server that is added again is a late one.
        assert_eq!(names(&order, &snapshot(&[("d", Ready), ("c", Ready), ("b", Ready)])), ["d", "b", "c"]);
        order.record(&snapshot(&[("c", Ready), ("d", Ready)]));
        assert_eq!(names(&order, &snapshot(&[("b", Ready), ("c", Ready), ("d", Ready)])), ["d", "c", "b"]);
    }
}
