//! What a backend says unasked: its lists changed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::subscriptions::Subscriptions;
use crate::json::{Object, RawRef};
use crate::model::ItemKind;
use crate::wire::{Id, key};

/// Changes that came in since somebody last looked. Many notifications in a row become one look.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    changed: AtomicU8,
    wake: Notify,
    /// Where changes of lists are heard, if not here.
    heard_by: Option<Arc<Signals>>,
    subscriptions: Arc<Subscriptions>,
    /// Who waits to hear what of a listen is honoured, by the id of its request.
    acknowledgments: Mutex<HashMap<u64, oneshot::Sender<Vec<String>>>>,
    /// Who waits for the server to end a listen, likewise.
    ends: Mutex<HashMap<u64, oneshot::Sender<()>>>,
}

impl Signals {
    pub(crate) fn new(subscriptions: &Arc<Subscriptions>) -> Self {
        Signals { subscriptions: Arc::clone(subscriptions), ..Signals::default() }
    }

    /// For a connection beside another one: what it says of lists counts as said on that one.
    pub(crate) fn beside(other: &Arc<Signals>, subscriptions: &Arc<Subscriptions>) -> Self {
        Signals { heard_by: Some(Arc::clone(other)), ..Signals::new(subscriptions) }
    }

    /// Takes a notification; `false` if it is none of ours.
    pub(crate) fn take(&self, method: &str, params: Option<&RawRef>) -> bool {
        let bits = match method {
            "notifications/resources/updated" => {
                if let Some(uri) = params.and_then(|params| Object::of(params).ok()?.string("uri")) {
                    self.subscriptions.tell(&uri);
                }
                return true;
            }
            "notifications/subscriptions/acknowledged" => {
                params.and_then(|params| self.acknowledged(params));
                return true;
            }
            "notifications/cancelled" => return params.and_then(|params| self.ended(params)).is_some(),
            "notifications/tools/list_changed" => bit(ItemKind::Tool),
            "notifications/resources/list_changed" => bit(ItemKind::Resource) | bit(ItemKind::ResourceTemplate),
            "notifications/prompts/list_changed" => bit(ItemKind::Prompt),
            _ => return false,
        };
        self.mark(bits);
        true
    }

    /// The resources a listen under this id will be acknowledged for.
    pub(crate) fn acknowledgment(&self, id: u64) -> oneshot::Receiver<Vec<String>> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.acknowledgments.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, sender| !sender.is_closed());
        waiting.insert(id, sender);
        receiver
    }

    fn acknowledged(&self, params: &RawRef) -> Option<()> {
        let params = Object::of(params).ok()?;
        let meta = Object::of(params.get(key::META)?).ok()?;
        let id = Id::parse(meta.get(key::SUBSCRIPTION_ID)?.get())?.as_number()?;
        let waiting = self.acknowledgments.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)?;
        let honoured = Object::of(params.get("notifications")?).ok()?;
        let resources = honoured.get("resourceSubscriptions").and_then(|uris| serde_json::from_str(uris.get()).ok());
        waiting.send(resources.unwrap_or_default()).ok()
    }

    /// Ends when the server says that it has ended the listen under this id: on a pipe that is one of two ways.
    pub(crate) fn end_of(&self, id: u64) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, sender| !sender.is_closed());
        waiting.insert(id, sender);
        receiver
    }

    fn ended(&self, params: &RawRef) -> Option<()> {
        let id = Id::parse(Object::of(params).ok()?.get("requestId")?.get())?.as_number()?;
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)?.send(()).ok()
    }

    /// Updates of resources may have been missed.
    pub(crate) fn updates_missed(&self) {
        self.subscriptions.missed();
    }

    /// A list is too old to be used.
    pub(crate) fn mark_old(&self, kind: ItemKind) {
        self.mark(bit(kind));
    }

    pub(crate) fn mark_all(&self) {
        self.mark(ItemKind::ALL.into_iter().map(bit).sum());
    }

    fn mark(&self, bits: u8) {
        if let Some(other) = &self.heard_by {
            return other.mark(bits);
        }
        self.changed.fetch_or(bits, Ordering::AcqRel);
        self.wake.notify_one();
    }

    /// Waits until something changed and takes it.
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
