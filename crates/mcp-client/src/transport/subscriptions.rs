//! The resources of a server that clients are subscribed to. The server gets one subscription per resource, however many
//! clients subscribe.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};

use crate::call::{CallError, Subscription, UpdateListener};
use proxy_wire::RpcError;

/// Subscriptions of all clients to one server.
const MAX_SUBSCRIPTIONS: usize = 100_000;

/// How the server responded to a subscription.
#[derive(Clone, Debug)]
pub(crate) enum SubscriptionState {
    /// Not yet, or the subscription must be repeated on the next connection.
    Requested,
    Accepted,
    Refused(CallError),
}

struct SubscribedResource {
    listeners: Vec<(u64, UpdateListener)>,
    state: watch::Sender<SubscriptionState>,
    /// Whether it has been accepted before. Updates may then have been missed until it is accepted again.
    accepted_before: bool,
}

impl SubscribedResource {
    fn notify(&self, uri: &str) {
        for (_, listener) in &self.listeners {
            listener(uri);
        }
    }

    fn is_refused(&self) -> bool {
        matches!(*self.state.borrow(), SubscriptionState::Refused(_))
    }
}

#[derive(Default)]
struct SubscriptionTable {
    resources: HashMap<Arc<str>, SubscribedResource>,
    /// Resources that were added or removed since the server was last informed.
    changed: HashSet<Arc<str>>,
    /// The number of listeners of all resources.
    listeners: usize,
    last_listener_id: u64,
}

/// The subscriptions on one connection, and on the connections that replace it after a reconnect.
#[derive(Default)]
pub(crate) struct ServerSubscriptions {
    table: Mutex<SubscriptionTable>,
    wake: Notify,
}

impl fmt::Debug for ServerSubscriptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Subscriptions({})", self.lock().resources.len())
    }
}

impl ServerSubscriptions {
    fn lock(&self) -> MutexGuard<'_, SubscriptionTable> {
        self.table.lock()
    }

    /// Adds a listener for `uri`. The receiver shows whether the server has accepted the subscription.
    pub(crate) fn add(
        self: &Arc<Self>,
        uri: &str,
        listener: UpdateListener,
    ) -> Result<(Subscription, watch::Receiver<SubscriptionState>), CallError> {
        let mut table = self.lock();
        if table.listeners >= MAX_SUBSCRIPTIONS {
            return Err(CallError::Rpc(RpcError::internal("too many subscriptions to one server")));
        }
        table.listeners += 1;
        table.last_listener_id += 1;
        let id = table.last_listener_id;
        let known = table.resources.get_key_value(uri).map(|(uri, _)| Arc::clone(uri));
        let uri = known.unwrap_or_else(|| uri.into());
        let resource = table.resources.entry(Arc::clone(&uri)).or_insert_with(|| SubscribedResource {
            listeners: Vec::new(),
            state: watch::Sender::new(SubscriptionState::Requested),
            accepted_before: false,
        });
        resource.listeners.push((id, listener));
        // A refused subscription is requested again for the new listener.
        let request = resource.listeners.len() == 1 || resource.is_refused();
        if resource.is_refused() {
            resource.state.send_replace(SubscriptionState::Requested);
        }
        let state = resource.state.subscribe();
        if request {
            table.changed.insert(Arc::clone(&uri));
            self.wake.notify_one();
        }
        drop(table);
        let (subscriptions, removed) = (Arc::clone(self), Arc::clone(&uri));
        Ok((Subscription::new(uri, move || subscriptions.remove(&removed, id)), state))
    }

    fn remove(&self, uri: &Arc<str>, id: u64) {
        let mut table = self.lock();
        table.listeners -= 1;
        let Some(resource) = table.resources.get_mut(uri) else { return };
        resource.listeners.retain(|(listener, _)| *listener != id);
        if resource.listeners.is_empty() {
            table.resources.remove(uri);
            table.changed.insert(Arc::clone(uri));
            self.wake.notify_one();
        }
    }

    /// Notifies the listeners of an updated resource and of the resources above it.
    pub(crate) fn notify(&self, uri: &str) {
        let table = self.lock();
        if table.resources.is_empty() {
            return;
        }
        for resource in self_and_ancestors(uri).filter_map(|uri| table.resources.get(uri)) {
            resource.notify(uri);
        }
    }

    /// Notifies all listeners, because updates may have been missed.
    pub(crate) fn notify_all(&self) {
        for (uri, resource) in &self.lock().resources {
            if matches!(*resource.state.borrow(), SubscriptionState::Accepted) {
                resource.notify(uri);
            }
        }
    }

    /// The server has lost all subscriptions, for instance because the connection closed.
    pub(crate) fn suspend(&self) {
        for resource in self.lock().resources.values() {
            resource.state.send_if_modified(|state| {
                let accepted = matches!(state, SubscriptionState::Accepted);
                if accepted {
                    *state = SubscriptionState::Requested;
                }
                accepted
            });
        }
    }

    /// Requests all subscriptions again, on a new connection.
    pub(crate) fn request_all(&self) {
        let mut table = self.lock();
        for resource in table.resources.values() {
            resource.state.send_replace(SubscriptionState::Requested);
        }
        table.changed = table.resources.keys().cloned().collect();
        self.wake.notify_one();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().resources.is_empty()
    }

    /// Waits until resources were added or removed, and returns them.
    pub(crate) async fn changed(&self) -> HashSet<Arc<str>> {
        loop {
            let changed = std::mem::take(&mut self.lock().changed);
            if !changed.is_empty() {
                return changed;
            }
            self.wake.notified().await;
        }
    }

    /// Whether the server should have a subscription to this resource.
    pub(crate) fn is_desired(&self, uri: &str) -> bool {
        self.lock().resources.get(uri).is_some_and(|resource| !resource.is_refused())
    }

    /// All resources the server should have subscriptions to.
    pub(crate) fn desired(&self) -> HashSet<Arc<str>> {
        let table = self.lock();
        table.resources.iter().filter(|(_, resource)| !resource.is_refused()).map(|(uri, _)| Arc::clone(uri)).collect()
    }

    /// Handles a failed attempt to subscribe: new subscriptions are refused, those accepted before stay requested. Returns
    /// whether there are any of the latter, so that the attempt must be repeated.
    pub(crate) fn fail(&self, uris: &HashSet<Arc<str>>, error: &CallError) -> bool {
        let (repeated, new): (Vec<_>, Vec<_>) = {
            let table = self.lock();
            let open = |resource: &SubscribedResource| matches!(*resource.state.borrow(), SubscriptionState::Requested);
            let requested = uris.iter().filter_map(|uri| Some((uri, table.resources.get(uri)?)));
            requested
                .filter(|(_, resource)| open(resource))
                .map(|(uri, resource)| (Arc::clone(uri), resource.accepted_before))
                .partition(|(_, accepted_before)| *accepted_before)
        };
        for (uri, _) in new {
            self.settle(&uri, Err(error.clone()));
        }
        !repeated.is_empty()
    }

    /// Records the server's response to a requested subscription.
    pub(crate) fn settle(&self, uri: &str, outcome: Result<(), CallError>) {
        let mut table = self.lock();
        let Some(resource) = table.resources.get_mut(uri) else { return };
        if !matches!(*resource.state.borrow(), SubscriptionState::Requested) {
            return;
        }
        match outcome {
            Ok(()) => {
                resource.state.send_replace(SubscriptionState::Accepted);
                // Updates may have been missed since it was last accepted.
                if std::mem::replace(&mut resource.accepted_before, true) {
                    resource.notify(uri);
                }
            }
            Err(error) => {
                resource.state.send_replace(SubscriptionState::Refused(error));
            }
        }
    }
}

/// A URI and its ancestors: those of `a://b/c/d?e` are `a://b/c/d`, `a://b/c/`, `a://b/c` and so on.
fn self_and_ancestors(uri: &str) -> impl Iterator<Item = &str> {
    let ancestors =
        uri.char_indices().skip(1).filter(|(_, letter)| matches!(letter, '/' | '?' | '#')).flat_map(|(at, _)| {
            let (without, with) = (&uri[..at], &uri[..=at]);
            [without, with].into_iter().filter(|part| part.len() < uri.len())
        });
    ancestors.chain([uri])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscribe(subscriptions: &Arc<ServerSubscriptions>, uri: &str) -> (Subscription, Arc<Mutex<Vec<String>>>) {
        let updates = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&updates);
        let listener: UpdateListener = Arc::new(move |uri: &str| sink.lock().push(uri.to_owned()));
        let (subscription, _) = subscriptions.add(uri, listener).unwrap();
        (subscription, updates)
    }

    #[tokio::test]
    async fn the_server_is_asked_once_and_released_with_the_last() {
        let subscriptions = Arc::new(ServerSubscriptions::default());
        let (first, _) = subscribe(&subscriptions, "a://x");
        let changed = subscriptions.changed().await;
        assert!(changed.contains("a://x") && subscriptions.is_desired("a://x"));
        let (second, _) = subscribe(&subscriptions, "a://x");
        drop(first);
        assert!(subscriptions.lock().changed.is_empty(), "nothing changed for the server");
        drop(second);
        assert!(subscriptions.changed().await.contains("a://x"));
        assert!(!subscriptions.is_desired("a://x"));
        assert_eq!(subscriptions.lock().listeners, 0);
    }

    #[test]
    fn an_update_reaches_the_listeners_of_the_resource_and_of_its_ancestors() {
        let subscriptions = Arc::new(ServerSubscriptions::default());
        let uris = ["a://dir", "a://dir/", "a://dir/file", "a://di", "a://dir/file/deeper"];
        let subscribed: Vec<_> = uris.iter().map(|uri| subscribe(&subscriptions, uri)).collect();
        let counts = || -> Vec<usize> { subscribed.iter().map(|(_, updates)| updates.lock().len()).collect() };
        subscriptions.notify("a://dir/file");
        assert_eq!(counts(), [1, 1, 1, 0, 0]);
        subscriptions.notify("a://dir?query");
        assert_eq!(counts(), [2, 1, 1, 0, 0]);
    }

    #[test]
    fn a_gap_in_a_subscription_counts_as_an_update() {
        let subscriptions = Arc::new(ServerSubscriptions::default());
        let (_subscription, updates) = subscribe(&subscriptions, "a://x");
        subscriptions.settle("a://x", Ok(()));
        assert!(updates.lock().is_empty());
        subscriptions.suspend();
        subscriptions.settle("a://x", Ok(()));
        assert_eq!(*updates.lock(), ["a://x"]);
    }
}
