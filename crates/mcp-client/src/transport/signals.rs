//! Server notifications that concern the proxy itself: changed lists, updated resources, and the state of
//! `subscriptions/listen` requests.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::subscriptions::ServerSubscriptions;
use proxy_json::{Object, RawRef};
use proxy_model::ItemKind;
use proxy_wire::{Id, key};

/// Collects the kinds of items whose lists have changed. Several notifications in a row lead to a single listing.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    lists: Mutex<[ListChanges; 4]>,
    wake: Notify,
    /// Notified when lists have been made again.
    relisted: Notify,
    /// Where list changes are recorded as well. Set for side connections, whose lists may not be followed.
    forward_to: Option<Arc<Signals>>,
    subscriptions: Arc<ServerSubscriptions>,
    /// Waiters for the acknowledgment of a listen request, by request id.
    acknowledgments: Mutex<HashMap<u64, oneshot::Sender<Vec<String>>>>,
    /// Waiters for the server to end a listen request, by request id.
    listen_ends: Mutex<HashMap<u64, oneshot::Sender<()>>>,
}

/// The announced changes of the lists of one kind, counted.
#[derive(Clone, Copy, Debug, Default)]
struct ListChanges {
    announced: u64,
    /// How many of them the listing knows that was begun last.
    taken: u64,
    /// How many of them the listing knew that was completed last.
    listed: u64,
}

impl Signals {
    pub(crate) fn new(subscriptions: &Arc<ServerSubscriptions>) -> Self {
        Signals { subscriptions: Arc::clone(subscriptions), ..Signals::default() }
    }

    /// For a side connection: list changes are also recorded in the signals of the main connection.
    pub(crate) fn for_side(main: &Arc<Signals>, subscriptions: &Arc<ServerSubscriptions>) -> Self {
        Signals { forward_to: Some(Arc::clone(main)), ..Signals::new(subscriptions) }
    }

    /// Handles a notification. Returns false if it is not for the proxy itself.
    pub(crate) fn receive(&self, method: &str, params: Option<&RawRef>) -> bool {
        let kinds: &[ItemKind] = match method {
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
            "notifications/tools/list_changed" => &[ItemKind::Tool],
            "notifications/resources/list_changed" => &[ItemKind::Resource, ItemKind::ResourceTemplate],
            "notifications/prompts/list_changed" => &[ItemKind::Prompt],
            _ => return false,
        };
        self.mark(kinds);
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
        self.mark(&[kind]);
    }

    /// Requests a new listing of all kinds.
    pub(crate) fn mark_all(&self) {
        self.mark(&ItemKind::ALL);
    }

    fn mark(&self, kinds: &[ItemKind]) {
        if let Some(main) = &self.forward_to {
            main.mark(kinds);
        }
        let mut lists = self.lists.lock();
        for kind in kinds {
            lists[index(*kind)].announced += 1;
        }
        drop(lists);
        self.wake.notify_one();
    }

    /// Waits until lists have changed. Returns their kinds, which are made again from now on.
    pub(crate) async fn changed(&self) -> Vec<ItemKind> {
        loop {
            let kinds = self.take_changed();
            if !kinds.is_empty() {
                return kinds;
            }
            self.wake.notified().await;
        }
    }

    fn take_changed(&self) -> Vec<ItemKind> {
        let mut lists = self.lists.lock();
        let mut is_changed = |kind: &ItemKind| {
            let list = &mut lists[index(*kind)];
            let is_changed = list.announced > list.taken;
            list.taken = list.announced;
            is_changed
        };
        ItemKind::ALL.into_iter().filter(&mut is_changed).collect()
    }

    /// Lists of these kinds have been made again, or could not be.
    pub(crate) fn listed(&self, kinds: &[ItemKind]) {
        let mut lists = self.lists.lock();
        for kind in kinds {
            let list = &mut lists[index(*kind)];
            list.listed = list.taken;
        }
        drop(lists);
        self.relisted.notify_waiters();
    }

    /// Completes when the list of this kind knows every change that has been announced by now.
    pub(crate) async fn relisted(&self, kind: ItemKind) {
        let announced = self.lists.lock()[index(kind)].announced;
        loop {
            let relisted = self.relisted.notified();
            if self.lists.lock()[index(kind)].listed >= announced {
                return;
            }
            relisted.await;
        }
    }
}

fn index(kind: ItemKind) -> usize {
    match kind {
        ItemKind::Tool => 0,
        ItemKind::Resource => 1,
        ItemKind::ResourceTemplate => 2,
        ItemKind::Prompt => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_list_that_has_changed_is_waited_for_until_it_was_made_again() {
        let signals = Signals::default();
        signals.relisted(ItemKind::Tool).await;
        signals.receive("notifications/tools/list_changed", None);
        let mut tools = std::pin::pin!(signals.relisted(ItemKind::Tool));
        assert!(futures::poll!(&mut tools).is_pending());
        signals.relisted(ItemKind::Prompt).await;
        assert_eq!(signals.changed().await, [ItemKind::Tool]);
        assert!(futures::poll!(&mut tools).is_pending(), "it is being made");
        signals.receive("notifications/tools/list_changed", None);
        let mut later = std::pin::pin!(signals.relisted(ItemKind::Tool));
        assert!(futures::poll!(&mut later).is_pending());
        signals.listed(&[ItemKind::Tool]);
        tools.await;
        assert!(futures::poll!(&mut later).is_pending(), "it has changed meanwhile");
        assert_eq!(signals.changed().await, [ItemKind::Tool]);
        signals.listed(&[ItemKind::Tool]);
        later.await;
    }
}
