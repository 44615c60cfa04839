//! Notifications of a server that concern the proxy itself: changed lists, updated resources, and the state of
//! `subscriptions/listen` requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::subscriptions::ServerSubscriptions;
use crate::json::{Object, RawRef};
use crate::model::ItemKind;
use crate::wire::{Id, key};

/// Collects the kinds of items whose lists have changed. Several notifications in a row lead to a single listing.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// A set of bits, see [`bit`].
    changed: AtomicU8,
    wake: Notify,
    /// Where list changes are recorded as well. Set for side connections, whose lists may not be followed.
    forward_to: Option<Arc<Signals>>,
    subscriptions: Arc<ServerSubscriptions>,
    /// Waiters for the acknowledgment of a listen request, by request id.
    acknowledgments: Mutex<HashMap<u64, oneshot::Sender<Vec<String>>>>,
    /// Waiters for the server to end a listen request, by request id.
    listen_ends: Mutex<HashMap<u64, oneshot::Sender<()>>>,
}

impl Signals {
    pub(crate) fn new(subscriptions: &Arc<ServerSubscriptions>) -> Self {
        Signals { subscriptions: Arc::clone(subscriptions), ..Signals::default() }
    }

    /// For a side connection: list changes are also recorded in the signals of the main connection.
    pub(crate) fn for_side(main: &Arc<Signals>, subscriptions: &Arc<ServerSubscriptions>) -> Self {
        Signals { forward_to: Some(Arc::clone(main)), ..Signals::new(subscriptions) }
    }

    /// Handles a notification. Returns false if it is none of those that are handled here.
    pub(crate) fn receive(&self, method: &str, params: Option<&RawRef>) -> bool {
        let bits = match method {
            "notifications/resources/updated" => {
                if let Some(uri) = params.and_then(|params| Object::of(params).ok()?.string("uri")) {
                    self.subscriptions.notify(&uri);
                }
                return true;
            }
            "notifications/subscriptions/acknowledged" => {
                params.and_then(|params| self.acknowledge(params));
                return true;
            }
            "notifications/cancelled" => return params.and_then(|params| self.end_listen(params)).is_some(),
            "notifications/tools/list_changed" => bit(ItemKind::Tool),
            "notifications/resources/list_changed" => bit(ItemKind::Resource) | bit(ItemKind::ResourceTemplate),
            "notifications/prompts/list_changed" => bit(ItemKind::Prompt),
            _ => return false,
        };
        self.mark(bits);
        true
    }

    /// Receives the resource URIs that the server acknowledges for the listen request with this id.
    pub(crate) fn acknowledgment(&self, id: u64) -> oneshot::Receiver<Vec<String>> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.acknowledgments.lock();
        waiting.retain(|_, sender| !sender.is_closed());
        waiting.insert(id, sender);
        receiver
    }

    fn acknowledge(&self, params: &RawRef) -> Option<()> {
        let params = Object::of(params).ok()?;
        let meta = Object::of(params.get(key::META)?).ok()?;
        let id = Id::parse(meta.get(key::SUBSCRIPTION_ID)?.get())?.as_number()?;
        let waiting = self.acknowledgments.lock().remove(&id)?;
        let acknowledged = Object::of(params.get("notifications")?).ok()?;
        let uris = acknowledged.get("resourceSubscriptions").and_then(|uris| serde_json::from_str(uris.get()).ok());
        waiting.send(uris.unwrap_or_default()).ok()
    }

    /// Completes when the server cancels the listen request with this id. Over stdio a server ends a listen either this
    /// way or with a response.
    pub(crate) fn listen_ended(&self, id: u64) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.listen_ends.lock();
        waiting.retain(|_, sender| !sender.is_closed());
        waiting.insert(id, sender);
        receiver
    }

    fn end_listen(&self, params: &RawRef) -> Option<()> {
        let id = Id::parse(Object::of(params).ok()?.get("requestId")?.get())?.as_number()?;
        self.listen_ends.lock().remove(&id)?.send(()).ok()
    }

    /// Treats all subscribed resources as updated, because update notifications may have been missed.
    pub(crate) fn updates_missed(&self) {
        self.subscriptions.notify_all();
    }

    /// Requests a new listing of this kind.
    pub(crate) fn mark_stale(&self, kind: ItemKind) {
        self.mark(bit(kind));
    }

    /// Requests a new listing of all kinds.
    pub(crate) fn mark_all(&self) {
        self.mark(ItemKind::ALL.into_iter().map(bit).sum());
    }

    fn mark(&self, bits: u8) {
        if let Some(main) = &self.forward_to {
            main.mark(bits);
        }
        self.changed.fetch_or(bits, Ordering::AcqRel);
        self.wake.notify_one();
    }

    /// Waits until lists have changed. Returns their kinds and forgets them.
    pub(crate) async fn changed(&self) -> Vec<ItemKind> {
        loop {
            let bits = self.changed.swap(0, Ordering::AcqRel);
            if bits != 0 {
                return ItemKind::ALL.into_iter().filter(|kind| bits & bit(*kind) != 0).collect();
            }
            self.wake.notified().await;
        }
    }
}

fn bit(kind: ItemKind) -> u8 {
    match kind {
        ItemKind::Tool => 1,
        ItemKind::Resource => 2,
        ItemKind::ResourceTemplate => 4,
        ItemKind::Prompt => 8,
    }
}
