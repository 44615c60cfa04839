//! What keeps a server from being stopped that may rest (`start: lazy`, `idleStop`). Holds are counted, not timed.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::held_tasks::HeldTasks;
use proxy_config::RestSettings;
use proxy_model::{ClientProfile, Owner};

/// The maximum number of client profiles whose lists are fetched when a server has been started again.
const MAX_MISSED: usize = 16;

#[derive(Debug)]
pub(crate) struct Holds {
    /// When the server is stopped; `None` if it runs until the proxy ends.
    settings: Option<RestSettings>,
    state: Mutex<HoldState>,
    /// Notified when nothing holds the server any more.
    released: Notify,
    /// The tasks that clients have started and not seen the end of.
    pub(crate) tasks: HeldTasks,
    /// The clients that connected while it rested. Its lists are fetched for them when it runs.
    missed: Mutex<Vec<(ClientProfile, Owner)>>,
}

#[derive(Debug)]
struct HoldState {
    /// The number of [`Hold`]s.
    count: usize,
    /// Since when there is none.
    unheld_since: Instant,
    /// Whether a client has needed the server in this process.
    was_used: bool,
    /// Whether the server is not running until somebody needs it.
    is_resting: bool,
    stopped: Option<Stopped>,
}

/// How a server was stopped.
#[derive(Clone, Copy, Debug)]
struct Stopped {
    at: Instant,
    memory: Option<u64>,
}

/// The rest of a server.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    /// How long ago it was stopped; `None` if this process has not stopped it.
    pub stopped_ago: Option<Duration>,
    /// The memory of its processes when it was stopped, in bytes.
    pub saved: Option<u64>,
}

/// Keeps a server running until dropped.
#[derive(Debug)]
pub(crate) struct Hold(Option<Arc<Holds>>);

impl Holds {
    pub(super) fn new(settings: Option<RestSettings>, is_resting: bool) -> Arc<Self> {
        let state = HoldState { count: 0, unheld_since: Instant::now(), was_used: false, is_resting, stopped: None };
        Arc::new(Holds {
            settings,
            state: Mutex::new(state),
            released: Notify::new(),
            tasks: HeldTasks::default(),
            missed: Mutex::default(),
        })
    }

    /// When the server is stopped; `None` if it runs until the proxy ends.
    pub(crate) fn settings(&self) -> Option<RestSettings> {
        self.settings
    }

    fn lock(&self) -> MutexGuard<'_, HoldState> {
        self.state.lock()
    }

    /// Keeps the server running, or lets it be started, for a client.
    pub(crate) fn hold(self: &Arc<Self>) -> Hold {
        if self.settings.is_none() {
            return Hold(None);
        }
        let mut state = self.lock();
        state.count += 1;
        state.was_used = true;
        Hold(Some(Arc::clone(self)))
    }

    /// Keeps the server running for what the proxy wants to know. `None` if it rests: it is not started for that.
    pub(crate) fn hold_unless_resting(self: &Arc<Self>) -> Option<Hold> {
        let mut state = self.lock();
        if state.is_resting {
            return None;
        }
        if self.settings.is_none() {
            return Some(Hold(None));
        }
        state.count += 1;
        drop(state);
        Some(Hold(Some(Arc::clone(self))))
    }

    pub(crate) fn is_resting(&self) -> bool {
        self.lock().is_resting
    }

    /// How long nothing may hold the server before it is stopped. `None` if it is not: a client has needed it, and there is
    /// no `idleStop`.
    pub(super) fn idle_limit(&self) -> Option<Duration> {
        let settings = self.settings?;
        if settings.lazy && !self.lock().was_used {
            // It was only started for its lists.
            return Some(Duration::ZERO);
        }
        settings.idle_stop
    }

    /// Completes when there are no holds, with the moment since when.
    pub(super) async fn unheld(&self) -> Instant {
        loop {
            let mut released = std::pin::pin!(self.released.notified());
            released.as_mut().enable();
            {
                let state = self.lock();
                if state.count == 0 {
                    return state.unheld_since;
                }
            }
            released.await;
        }
    }

    /// The server rests from now on, unless something holds it or `disconnect` returns false. Whoever takes a hold later finds
    /// it disconnected.
    pub(super) fn rest_unless_held(&self, disconnect: impl FnOnce() -> bool) -> bool {
        let mut state = self.lock();
        state.is_resting = state.count == 0 && disconnect();
        state.is_resting
    }

    /// The server rests from now on, although calls may wait for it: they fail.
    pub(super) fn rest(&self, disconnect: impl FnOnce()) {
        let mut state = self.lock();
        disconnect();
        state.is_resting = true;
    }

    /// The server is started.
    pub(super) fn end_rest(&self) {
        let mut state = self.lock();
        state.is_resting = false;
        // The next rest has figures of its own, or none if the server ends by itself.
        state.stopped = None;
    }

    /// Notes that the processes of the server were stopped, and how much memory they had.
    pub(super) fn note_stop(&self, memory: Option<u64>) {
        self.lock().stopped = Some(Stopped { at: Instant::now(), memory });
    }

    /// The rest of the server; `None` if it does not rest.
    pub(crate) fn current_rest(&self) -> Option<Rest> {
        let state = self.lock();
        let stopped = state.stopped;
        state.is_resting.then(|| Rest {
            stopped_ago: stopped.map(|stopped| stopped.at.elapsed()),
            saved: stopped.and_then(|stopped| stopped.memory),
        })
    }

    /// Notes that clients of this profile connected while the server rested.
    pub(super) fn note_missed(&self, profile: ClientProfile, person: &Owner) {
        let mut missed = self.missed.lock();
        if missed.len() < MAX_MISSED && missed.iter().all(|(known, _)| *known != profile) {
            missed.push((profile, person.clone()));
        }
    }

    /// The clients that connected while it rested.
    pub(super) fn take_missed(&self) -> Vec<(ClientProfile, Owner)> {
        std::mem::take(&mut self.missed.lock())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Some(holds) = &self.0 else { return };
        let mut state = holds.lock();
        state.count -= 1;
        if state.count == 0 {
            state.unheld_since = Instant::now();
            drop(state);
            holds.released.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAZY: RestSettings = RestSettings { lazy: true, idle_stop: Some(Duration::from_secs(60)) };

    #[tokio::test]
    async fn what_is_held_does_not_rest() {
        let holds = Holds::new(Some(LAZY), false);
        let first = holds.hold();
        let second = holds.hold();
        let mut unheld = std::pin::pin!(holds.unheld());
        assert!(futures::poll!(&mut unheld).is_pending());
        drop(first);
        assert!(!holds.rest_unless_held(|| unreachable!("it is held")));
        assert!(futures::poll!(&mut unheld).is_pending());
        let released = Instant::now();
        drop(second);
        assert!(unheld.await >= released, "counted from the last hold");
        assert!(holds.rest_unless_held(|| true) && holds.is_resting());
        assert!(holds.hold_unless_resting().is_none(), "the proxy itself wakes nobody");
        holds.end_rest();
        assert!(holds.hold_unless_resting().is_some());
    }

    #[test]
    fn a_server_that_was_only_listed_rests_at_once() {
        let holds = Holds::new(Some(LAZY), false);
        drop(holds.hold_unless_resting());
        assert_eq!(holds.idle_limit(), Some(Duration::ZERO));
        drop(holds.hold());
        assert_eq!(holds.idle_limit(), Some(Duration::from_secs(60)));
        let holds = Holds::new(Some(RestSettings { lazy: true, idle_stop: None }), false);
        drop(holds.hold());
        assert_eq!(holds.idle_limit(), None, "it stays");
        assert_eq!(Holds::new(None, false).idle_limit(), None);
    }
}
