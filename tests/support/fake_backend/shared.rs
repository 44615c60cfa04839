//! What outlives one request: everything received so far, tools added, who listens, who waits.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::catalog::{self, Catalog};
use crate::message::SUBSCRIPTION_KEY;
use crate::old_sse::OldStreams;
use crate::options::{Eras, Options, Transport};
use crate::outbox::{Outbox, Outgoing};
use crate::session::Sessions;

/// Somebody who wants to hear of changes.
pub struct Listener {
    pub outbox: Outbox,
    /// The raw id of the `subscriptions/listen` request; absent for the legacy era.
    pub subscription: Option<String>,
    /// The session a GET stream belongs to.
    pub session: Option<String>,
    /// The resources a modern listener follows.
    pub resources: Vec<String>,
}

/// What reached this server, for tests to look at.
#[derive(Default)]
pub struct Record {
    pub messages: Vec<String>,
    /// What HTTP shows beside messages: GET, DELETE, and `closed ID` for a reply the client did not wait for.
    pub http: Vec<String>,
}

/// A call held back until its group is complete.
pub struct Held {
    pub id: String,
    pub outbox: Outbox,
    pub result: String,
}

#[derive(Default)]
pub struct Inner {
    pub record: Record,
    pub added_tools: Vec<Box<RawValue>>,
    pub listeners: Vec<Listener>,
    /// What legacy clients follow: the session, if there is one, and the resource.
    pub subscribed: Vec<(Option<String>, String)>,
    pub in_flight: HashMap<String, CancellationToken>,
    pub held: Vec<Held>,
    pub sessions: Sessions,
    /// Whether the client of each session can be asked by forms.
    pub form_clients: HashMap<Option<String>, bool>,
    pub old_streams: OldStreams,
    pub tasks: HashMap<String, crate::tasks::Task>,
    /// Replies whose stream was closed after a priming event, by the event's id.
    pub parked: HashMap<String, UnboundedReceiver<Outgoing>>,
    /// Requests of this server to the client, by raw id.
    pub asked: HashMap<String, oneshot::Sender<String>>,
}

pub struct Shared {
    pub options: Options,
    pub catalog: Catalog,
    pub changed: Notify,
    counter: AtomicUsize,
    requests: AtomicUsize,
    inner: Mutex<Inner>,
}

impl Shared {
    pub fn new(options: Options) -> Self {
        let catalog = Catalog::load(&options);
        Self {
            options,
            catalog,
            changed: Notify::new(),
            counter: AtomicUsize::new(1),
            requests: AtomicUsize::new(0),
            inner: Mutex::default(),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn next_number(&self) -> usize {
        self.counter.fetch_add(1, Ordering::Relaxed)
    }

    /// The eras offered to the next request: a fleet behind one address may answer differently each time.
    pub fn eras_for_next_request(&self) -> Eras {
        let count = self.requests.fetch_add(1, Ordering::Relaxed);
        if !self.options.flip_era {
            return self.options.eras;
        }
        let legacy = count.is_multiple_of(2);
        Eras { legacy, modern: !legacy }
    }

    pub fn record(&self, change: impl FnOnce(&mut Record)) {
        change(&mut self.lock().record);
        self.changed.notify_waiters();
    }

    pub fn tools(&self) -> Vec<Box<RawValue>> {
        let mut tools = self.catalog.tools.clone();
        tools.extend(self.lock().added_tools.iter().cloned());
        if let Some(path) = &self.options.live_file {
            tools.extend(catalog::live_tools(path, self.next_number()));
        }
        tools
    }

    /// Tells every listener. `params` is a raw object; a subscription's id is put in front of its members.
    pub fn announce(&self, method: &str, params: &str) {
        let mut inner = self.lock();
        inner.listeners.retain(|listener| !listener.outbox.is_closed());
        for listener in &inner.listeners {
            let params = match &listener.subscription {
                Some(id) => stamped(params, id),
                None => params.to_owned(),
            };
            listener.outbox.notify(method, &params);
        }
    }

    /// Ends every listen and every GET stream from this side.
    pub fn end_streams(&self) {
        let mut inner = self.lock();
        inner.old_streams.end_all();
        for listener in std::mem::take(&mut inner.listeners) {
            let Some(id) = listener.subscription else { continue };
            if matches!(self.options.transport, Transport::Stdio) {
                // A pipe stays open, so the end has to be said.
                listener.outbox.notify("notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#));
            }
            if let Some(token) = inner.in_flight.get(&id) {
                token.cancel();
            }
        }
    }
}

pub fn stamped(params: &str, subscription: &str) -> String {
    let inside = params.trim().trim_start_matches('{');
    let comma = if inside.trim_start().starts_with('}') { "" } else { "," };
    format!(r#"{{"_meta":{{"{SUBSCRIPTION_KEY}":{subscription}}}{comma}{inside}"#)
}
