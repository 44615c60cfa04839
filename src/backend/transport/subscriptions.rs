//! Who wants to hear of which resource of a server: however many ask, the server is asked once.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::backend::call::backend_call::CallError;
use crate::model::{Abilities, Owner};
use crate::wire::RpcError;

/// Told the URI of what was updated, by the server's own name. Runs where messages are read: it must be quick.
pub type Listener = Arc<dyn Fn(&str) + Send + Sync>;

/// The one that follows, as far as a backend has to do with them: it decides which connection is theirs.
#[derive(Clone, Debug)]
pub struct Follower {
    pub owner: Owner,
    pub abilities: Abilities,
    /// Ends when their session has; none if they have none.
    pub gone: Option<CancellationToken>,
}

/// For one server, over all clients.
const LIMIT: usize = 100_000;

/// What the server thinks of a subscription.
#[derive(Clone, Debug)]
pub(crate) enum Standing {
    /// Not answered yet, or to be asked again on the next connection.
    Asked,
    Accepted,
    Refused(CallError),
}

struct Topic {
    listeners: Vec<(u64, Listener)>,
    standing: watch::Sender<Standing>,
    /// Whether it was accepted before, so that a gap in between may have hidden an update.
    had: bool,
}

impl Topic {
    fn tell(&self, uri: &str) {
        for (_, listener) in &self.listeners {
            listener(uri);
        }
    }

    fn is_refused(&self) -> bool {
        matches!(*self.standing.borrow(), Standing::Refused(_))
    }
}

#[derive(Default)]
struct Inner {
    topics: HashMap<Arc<str>, Topic>,
    /// What the server does not know yet: topics that came or went.
    changed: HashSet<Arc<str>>,
    holders: usize,
    next: u64,
}

/// The subscriptions on one connection to a server, or on those that take its place.
#[derive(Default)]
pub(crate) struct Subscriptions {
    inner: Mutex<Inner>,
    wake: Notify,
}

impl fmt::Debug for Subscriptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Subscriptions({})", self.lock().topics.len())
    }
}

impl Subscriptions {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more that wants to hear of `uri`, and where that stands.
    pub(crate) fn hold(
        self: &Arc<Self>,
        uri: &str,
        listener: Listener,
    ) -> Result<(Subscription, watch::Receiver<Standing>), CallError> {
        let mut inner = self.lock();
        if inner.holders >= LIMIT {
            return Err(CallError::Rpc(RpcError::internal("too many subscriptions to one server")));
        }
        inner.holders += 1;
        inner.next += 1;
        let id = inner.next;
        let known = inner.topics.get_key_value(uri).map(|(uri, _)| Arc::clone(uri));
        let uri = known.unwrap_or_else(|| uri.into());
        let topic = inner.topics.entry(Arc::clone(&uri)).or_insert_with(|| Topic {
            listeners: Vec::new(),
            standing: watch::Sender::new(Standing::Asked),
            had: false,
        });
        topic.listeners.push((id, listener));
        // What was refused earlier is asked again for whoever comes now.
        let ask = topic.listeners.len() == 1 || topic.is_refused();
        if topic.is_refused() {
            topic.standing.send_replace(Standing::Asked);
        }
        let standing = topic.standing.subscribe();
        if ask {
            inner.changed.insert(Arc::clone(&uri));
            self.wake.notify_one();
        }
        drop(inner);
        Ok((Subscription { subscriptions: Arc::clone(self), uri, id }, standing))
    }

    fn release(&self, uri: &Arc<str>, id: u64) {
        let mut inner = self.lock();
        inner.holders -= 1;
        let Some(topic) = inner.topics.get_mut(uri) else { return };
        topic.listeners.retain(|(held, _)| *held != id);
        if topic.listeners.is_empty() {
            inner.topics.remove(uri);
            inner.changed.insert(Arc::clone(uri));
            self.wake.notify_one();
        }
    }

    /// An update the server told of: for those who follow this very resource, and those who follow one above it.
    pub(crate) fn tell(&self, uri: &str) {
        let inner = self.lock();
        if inner.topics.is_empty() {
            return;
        }
        for topic in and_above(uri).filter_map(|uri| inner.topics.get(uri)) {
            topic.tell(uri);
        }
    }

    /// Updates may have been missed: everything that is followed may have changed.
    pub(crate) fn missed(&self) {
        for (uri, topic) in &self.lock().topics {
            if matches!(*topic.standing.borrow(), Standing::Accepted) {
                topic.tell(uri);
            }
        }
    }

    /// Nothing is subscribed at the server any more.
    pub(crate) fn suspend(&self) {
        for topic in self.lock().topics.values() {
            topic.standing.send_if_modified(|standing| {
                let accepted = matches!(standing, Standing::Accepted);
                if accepted {
                    *standing = Standing::Asked;
                }
                accepted
            });
        }
    }

    /// A new connection: all there is has to be asked for again.
    pub(crate) fn renew(&self) {
        let mut inner = self.lock();
        for topic in inner.topics.values() {
            topic.standing.send_replace(Standing::Asked);
        }
        inner.changed = inner.topics.keys().cloned().collect();
        self.wake.notify_one();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().topics.is_empty()
    }

    /// What came or went, as soon as something did.
    pub(crate) async fn changed(&self) -> HashSet<Arc<str>> {
        loop {
            let changed = std::mem::take(&mut self.lock().changed);
            if !changed.is_empty() {
                return changed;
            }
            self.wake.notified().await;
        }
    }

    /// Whether the server should have a subscription to this.
    pub(crate) fn wants(&self, uri: &str) -> bool {
        self.lock().topics.get(uri).is_some_and(|topic| !topic.is_refused())
    }

    /// All that the server should have subscriptions to.
    pub(crate) fn wanted(&self) -> HashSet<Arc<str>> {
        let inner = self.lock();
        inner.topics.iter().filter(|(_, topic)| !topic.is_refused()).map(|(uri, _)| Arc::clone(uri)).collect()
    }

    /// The server could not be asked. Whoever waits is told; what was accepted before is asked for again. Whether there
    /// is any of that.
    pub(crate) fn fail(&self, uris: &HashSet<Arc<str>>, error: &CallError) -> bool {
        let (again, new): (Vec<_>, Vec<_>) = {
            let inner = self.lock();
            let open = |topic: &Topic| matches!(*topic.standing.borrow(), Standing::Asked);
            let asked = uris.iter().filter_map(|uri| Some((uri, inner.topics.get(uri)?)));
            asked
                .filter(|(_, topic)| open(topic))
                .map(|(uri, topic)| (Arc::clone(uri), topic.had))
                .partition(|one| one.1)
        };
        for (uri, _) in new {
            self.settle(&uri, Err(error.clone()));
        }
        !again.is_empty()
    }

    /// What the server said to a subscription.
    pub(crate) fn settle(&self, uri: &str, outcome: Result<(), CallError>) {
        let mut inner = self.lock();
        let Some(topic) = inner.topics.get_mut(uri) else { return };
        if !matches!(*topic.standing.borrow(), Standing::Asked) {
            return;
        }
        match outcome {
            Ok(()) => {
                topic.standing.send_replace(Standing::Accepted);
                if std::mem::replace(&mut topic.had, true) {
                    topic.tell(uri);
                }
            }
            Err(error) => {
                topic.standing.send_replace(Standing::Refused(error));
            }
        }
    }
}

/// A URI and everything above it: `a://b/c/d?e` is below `a://b/c/d`, `a://b/c/` and `a://b/c`.
fn and_above(uri: &str) -> impl Iterator<Item = &str> {
    let above =
        uri.char_indices().skip(1).filter(|(_, letter)| matches!(letter, '/' | '?' | '#')).flat_map(|(at, _)| {
            let (without, with) = (&uri[..at], &uri[..=at]);
            [without, with].into_iter().filter(|part| part.len() < uri.len())
        });
    above.chain([uri])
}

/// Somebody follows a resource, until this is dropped.
pub struct Subscription {
    subscriptions: Arc<Subscriptions>,
    uri: Arc<str>,
    id: u64,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Subscription({})", self.uri)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.subscriptions.release(&self.uri, self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(subscriptions: &Arc<Subscriptions>, uri: &str) -> (Subscription, Arc<Mutex<Vec<String>>>) {
        let told = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&told);
        let listener: Listener = Arc::new(move |uri: &str| sink.lock().unwrap().push(uri.to_owned()));
        let (subscription, _) = subscriptions.hold(uri, listener).unwrap();
        (subscription, told)
    }

    #[tokio::test]
    async fn the_server_is_asked_once_and_released_with_the_last() {
        let subscriptions = Arc::new(Subscriptions::default());
        let (first, _) = held(&subscriptions, "a://x");
        let changed = subscriptions.changed().await;
        assert!(changed.contains("a://x") && subscriptions.wants("a://x"));
        let (second, _) = held(&subscriptions, "a://x");
        drop(first);
        assert!(subscriptions.lock().changed.is_empty(), "nothing changed for the server");
        drop(second);
        assert!(subscriptions.changed().await.contains("a://x"));
        assert!(!subscriptions.wants("a://x"));
        assert_eq!(subscriptions.lock().holders, 0);
    }

    #[test]
    fn an_update_reaches_those_who_follow_it_and_those_who_follow_what_it_is_below() {
        let subscriptions = Arc::new(Subscriptions::default());
        let followed = ["a://dir", "a://dir/", "a://dir/file", "a://di", "a://dir/file/deeper"];
        let held: Vec<_> = followed.iter().map(|uri| held(&subscriptions, uri)).collect();
        subscriptions.tell("a://dir/file");
        let told: Vec<usize> = held.iter().map(|(_, told)| told.lock().unwrap().len()).collect();
        assert_eq!(told, [1, 1, 1, 0, 0]);
        subscriptions.tell("a://dir?query");
        let told: Vec<usize> = held.iter().map(|(_, told)| told.lock().unwrap().len()).collect();
        assert_eq!(told, [2, 1, 1, 0, 0]);
    }

    #[test]
    fn a_gap_in_a_subscription_counts_as_an_update() {
        let subscriptions = Arc::new(Subscriptions::default());
        let (_held, told) = held(&subscriptions, "a://x");
        subscriptions.settle("a://x", Ok(()));
        assert!(told.lock().unwrap().is_empty());
        subscriptions.suspend();
        subscriptions.settle("a://x", Ok(()));
        assert_eq!(*told.lock().unwrap(), ["a://x"]);
    }
}
