//! The tasks that clients have started at a server. A server that is stopped loses them.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Tasks by id, with the moment after which the server may forget each; `None` if it has not said so.
#[derive(Debug, Default)]
pub(crate) struct HeldTasks(Mutex<HashMap<String, Option<Instant>>>);

impl HeldTasks {
    /// A client has started a task, or asked for one that goes on, which the server keeps for this long.
    pub(crate) fn started(&self, id: String, kept: Option<Duration>) {
        let until = kept.and_then(|kept| Instant::now().checked_add(kept));
        self.0.lock().entry(id).or_insert(until);
    }

    /// A client knows how the task has ended.
    pub(crate) fn ended(&self, id: &str) {
        self.0.lock().remove(id);
    }

    /// The connection is lost, and its tasks with it.
    pub(super) fn lost(&self) {
        self.0.lock().clear();
    }

    /// Whether there is a task that the server has to keep.
    pub(super) fn any(&self) -> bool {
        let now = Instant::now();
        let mut tasks = self.0.lock();
        tasks.retain(|_, until| until.is_none_or(|until| now < until));
        !tasks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_kept_until_its_end_or_as_long_as_the_server_keeps_it() {
        let tasks = HeldTasks::default();
        tasks.started("a".to_owned(), None);
        tasks.started("b".to_owned(), Some(Duration::from_secs(600)));
        tasks.started("c".to_owned(), Some(Duration::ZERO));
        tasks.ended("a");
        assert!(tasks.any());
        // Whoever asks for it does not prolong it.
        tasks.started("b".to_owned(), None);
        tasks.ended("b");
        assert!(!tasks.any(), "the server may have forgotten the third");
    }
}
