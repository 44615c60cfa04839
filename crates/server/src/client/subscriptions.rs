//! The resource subscriptions of a session, and the task that sends their update notifications.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::AbortHandle;

use super::resource_updates;
use super::resource_updates::ResourceUpdates;
use super::sink::MessageSink;
use proxy_engine::gateway::{CurrentSurface, Gateway, SurfaceHandle};

/// The minimum time between two rounds of notifications, for resources that change constantly.
const UPDATE_INTERVAL: Duration = Duration::from_millis(20);

/// The subscriptions of a session and the sink for their notifications. Dropping the last clone ends the subscriptions.
#[derive(Clone, Debug)]
pub(crate) struct SessionSubscriptions(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    updates: Arc<ResourceUpdates>,
    sink: MessageSink,
    notifier: Mutex<Option<AbortHandle>>,
    /// The surface that decides which updates the client may see. Set with the first subscription.
    surface: CurrentSurface,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(notifier) = self.notifier.lock().take() {
            notifier.abort();
        }
    }
}

impl SessionSubscriptions {
    pub(crate) fn new(sink: MessageSink) -> Self {
        SessionSubscriptions(Arc::new(Inner {
            updates: Arc::default(),
            sink,
            notifier: Mutex::default(),
            surface: Arc::default(),
        }))
    }

    /// The sink for messages that do not belong to a request of the client.
    pub(crate) fn sink(&self) -> &MessageSink {
        &self.0.sink
    }

    /// Ends all subscriptions.
    pub(super) fn clear(&self) {
        self.0.updates.clear();
    }

    pub(crate) fn updates(&self) -> &Arc<ResourceUpdates> {
        &self.0.updates
    }

    /// Starts the task that sends update notifications, unless it is running. It starts with the first subscription.
    pub(crate) fn start_notifying(&self, gateway: &Arc<Gateway>, handle: &Arc<SurfaceHandle>) {
        let mut notifier = self.0.notifier.lock();
        if notifier.is_none() {
            self.use_surface(handle);
            let surface = Arc::clone(&self.0.surface);
            let task = notify(Arc::clone(gateway), surface, Arc::clone(&self.0.updates), self.0.sink.clone());
            *notifier = Some(tokio::spawn(task).abort_handle());
        }
    }

    /// The surface that the client has now.
    pub(crate) fn current_surface(&self) -> &CurrentSurface {
        &self.0.surface
    }

    /// Lets another surface decide which updates the client may see.
    pub(super) fn use_surface(&self, handle: &Arc<SurfaceHandle>) {
        *self.0.surface.lock() = Some(Arc::clone(handle));
    }
}

async fn notify(gateway: Arc<Gateway>, surface: CurrentSurface, updates: Arc<ResourceUpdates>, sink: MessageSink) {
    loop {
        updates.updated().await;
        sink.ready().await;
        let handle = surface.lock().clone();
        let Some(handle) = handle else { return };
        for uri in updates.take_updates(&gateway, &handle).await {
            sink.send(resource_updates::notification(&uri)).await;
        }
        tokio::time::sleep(UPDATE_INTERVAL).await;
    }
}
