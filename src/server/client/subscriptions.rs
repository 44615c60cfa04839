//! The resources that the client of a session subscribed to.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;

use super::followed;
use super::followed::Followed;
use super::sink::MessageSink;
use crate::gateway::SurfaceHandle;
use crate::server::Server;

/// Between two rounds of notifications: a resource that changes constantly is not announced constantly.
const PAUSE: Duration = Duration::from_millis(20);

/// What a client follows, and the way it is told. It ends when the last copy is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Subscriptions(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    followed: Arc<Followed>,
    sink: MessageSink,
    notifier: Mutex<Option<AbortHandle>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(notifier) = self.notifier.lock().take() {
            notifier.abort();
        }
    }
}

impl Subscriptions {
    pub(crate) fn new(sink: MessageSink) -> Self {
        Subscriptions(Arc::new(Inner { followed: Arc::default(), sink, notifier: Mutex::default() }))
    }

    /// Where the client is told what it did not ask for.
    pub(crate) fn sink(&self) -> &MessageSink {
        &self.0.sink
    }

    /// Ends all of them.
    pub(crate) fn clear(&self) {
        self.0.followed.clear();
    }

    pub(crate) fn followed(&self) -> &Arc<Followed> {
        &self.0.followed
    }

    /// Starts the task that sends update notifications; clients without subscriptions have none.
    pub(crate) fn start_notifying(&self, server: &Server, view: &Arc<SurfaceHandle>) {
        let mut notifier = self.0.notifier.lock();
        if notifier.is_none() {
            let task = notify(server.clone(), Arc::clone(view), Arc::clone(&self.0.followed), self.0.sink.clone());
            *notifier = Some(tokio::spawn(task).abort_handle());
        }
    }
}

async fn notify(server: Server, view: Arc<SurfaceHandle>, followed: Arc<Followed>, sink: MessageSink) {
    loop {
        followed.updated().await;
        sink.ready().await;
        for uri in followed.take_updates(&server, &view) {
            sink.send(followed::notification(&uri)).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
