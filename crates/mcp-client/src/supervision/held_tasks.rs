//! The tasks that clients have started at a server. A server that is stopped loses them.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a task keeps its server running if the server keeps it longer: a client may never ask for its end.
const MAX_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Tasks by id, with the moment after which each no longer keeps the server running.
#[derive(Debug, Default)]
pub(crate) struct HeldTasks(Mutex<HashMap<String, Instant>>);

impl HeldTasks {
    /// A client has started a task, or asked for one that goes on, which the server keeps for this long.
    pub(crate) fn started(&self, id: String, kept: Option<Duration>) {
        let until = Instant::now() + kept.unwrap_or(MAX_KEPT).min(MAX_KEPT);
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
        self.any_at(Instant::now())
    }

    fn any_at(&self, now: Instant) -> bool {
        let mut tasks = self.0.lock();
        tasks.retain(|_, until| now < *until);
        !tasks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_whose_end_nobody_asks_for_is_kept_for_a_day() {
        let tasks = HeldTasks::default();
        tasks.started("a".to_owned(), None);
        let day_later = Instant::now() + MAX_KEPT;
        assert!(tasks.any_at(day_later - Duration::from_secs(60)));
        assert!(!tasks.any_at(day_later));
    }

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
