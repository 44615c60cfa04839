//! The requests that were forwarded to other processes and have no answer yet.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::{ForwardedAnswer, HomeNote, Replicas};
use proxy_model::Home;

#[derive(Debug, Default)]
pub(super) struct WaitingRequests {
    next: AtomicU64,
    answers: Mutex<HashMap<u64, oneshot::Sender<ForwardedAnswer>>>,
}

/// A forwarded request. Dropped before its answer comes, it is withdrawn.
pub(super) struct WaitingRequest {
    replicas: Arc<Replicas>,
    home: Home,
    pub(super) number: u64,
    pub(super) answer: oneshot::Receiver<ForwardedAnswer>,
    pub(super) is_sent: bool,
}

impl WaitingRequests {
    pub(super) fn begin(&self, replicas: &Arc<Replicas>, home: Home) -> WaitingRequest {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.answers.lock().insert(number, sender);
        WaitingRequest { replicas: Arc::clone(replicas), home, number, answer, is_sent: false }
    }

    pub(super) fn take(&self, number: u64, answer: ForwardedAnswer) {
        if let Some(waiting) = self.answers.lock().remove(&number) {
            // Fails only if nobody waits any more.
            let _ = waiting.send(answer);
        }
    }
}

impl Drop for WaitingRequest {
    fn drop(&mut self) {
        let is_open = self.replicas.waiting.answers.lock().remove(&self.number).is_some();
        if !is_open || !self.is_sent {
            return;
        }
        // Without a runtime the proxy has ended.
        let Ok(runtime) = Handle::try_current() else { return };
        let replicas = Arc::clone(&self.replicas);
        let home = self.home;
        let number = self.number;
        runtime.spawn(async move {
            let from = Home::of_this_process().to_string();
            let _ = replicas.send(home, &HomeNote::Withdrawn { number, from }).await;
        });
    }
}
