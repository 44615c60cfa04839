//! The background tasks of a front whose clients other processes serve, too: signs of life, and the notes of the others.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::HttpFront;
use super::session_lookup::{apply, by_id};
use crate::client::sink::MessageSink;
use crate::client::state::{Client, HttpFacts};
use crate::front::stateless::admit;
use crate::methods;
use crate::replicas::{BEAT_INTERVAL, ForwardedAnswer, ForwardedRequest, HomeNote, News, Replicas};
use proxy_base::VERSION;
use proxy_mcp_client::Cancellation;
use proxy_model::operator_api::ReplicaStatus;
use proxy_model::{Home, Owner, Principal, SessionDigest};
use proxy_store::{NoteReader, ReplicaStore};
use proxy_wire::{Message, encode};

/// How long to wait after the store was away.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// News are kept for an hour. Whoever was away for almost that long asks for each session.
const MAX_ABSENCE: Duration = Duration::from_secs(55 * 60);

/// The requests of other processes that run here, by sender and number.
type Running = Arc<Mutex<HashMap<(String, u64), Cancellation>>>;

/// Starts the tasks. They end with the front.
pub(super) fn start(front: &Arc<HttpFront>) {
    let replicas = &front.server.replicas;
    if !replicas.has_shared_keys() {
        return;
    }
    tokio::spawn(beat(Arc::downgrade(front), Arc::clone(replicas)));
    tokio::spawn(read_news(Arc::downgrade(front), Arc::clone(replicas)));
    tokio::spawn(read_inbox(Arc::downgrade(front), Arc::clone(replicas)));
}

async fn beat(front: Weak<HttpFront>, replicas: Arc<Replicas>) {
    let started = Instant::now();
    let mut ticks = tokio::time::interval(BEAT_INTERVAL);
    loop {
        ticks.tick().await;
        let Some(status) = front.upgrade().map(|front| status(&front, started)) else { return };
        replicas.beat(&status).await;
    }
}

fn status(front: &HttpFront, started: Instant) -> ReplicaStatus {
    ReplicaStatus {
        home: Home::of_this_process().to_string(),
        version: VERSION.to_owned(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        pid: std::process::id(),
        address: front.address.clone(),
        uptime_seconds: started.elapsed().as_secs(),
        sessions: front.sessions.count(),
        at: front.server.replicas.time().now(),
        ..ReplicaStatus::default()
    }
}

/// A reader of the store that is configured now.
struct Current {
    store: ReplicaStore,
    reader: NoteReader,
}

/// Renews a reader if the config names another store; none if there is no store.
fn renew(current: &mut Option<Current>, replicas: &Replicas, reader: impl Fn(&ReplicaStore) -> NoteReader) {
    let Some(store) = replicas.store() else {
        *current = None;
        return;
    };
    if !current.as_ref().is_some_and(|current| current.store.is_same(&store)) {
        *current = Some(Current { reader: reader(&store), store });
    }
}

async fn read_news(front: Weak<HttpFront>, replicas: Arc<Replicas>) {
    let mut current = None;
    let mut last_contact = Instant::now();
    let mut must_ask = false;
    while front.strong_count() > 0 {
        renew(&mut current, &replicas, ReplicaStore::news);
        let Some(Current { reader, .. }) = &mut current else {
            tokio::time::sleep(BEAT_INTERVAL).await;
            continue;
        };
        // What happened before it began to read is in no news.
        let news = match reader.begin().await {
            Ok(begins) => {
                must_ask |= begins;
                replicas.read_news(reader).await
            }
            Err(error) => Err(error),
        };
        let Some(front) = front.upgrade() else { return };
        let news = match news {
            Ok(news) => news,
            Err(error) => {
                tracing::debug!("no news from other proxies: {error}");
                drop(front);
                tokio::time::sleep(RETRY_INTERVAL).await;
                continue;
            }
        };
        must_ask |= last_contact.elapsed() > MAX_ABSENCE;
        last_contact = Instant::now();
        news.into_iter().for_each(|news| front.take_news(news));
        if must_ask {
            must_ask = !front.ask_for_all().await;
        }
    }
}

async fn read_inbox(front: Weak<HttpFront>, replicas: Arc<Replicas>) {
    let mut current = None;
    let running = Running::default();
    while front.strong_count() > 0 {
        renew(&mut current, &replicas, |store| store.inbox(Home::of_this_process()));
        let Some(Current { reader, .. }) = &mut current else {
            tokio::time::sleep(BEAT_INTERVAL).await;
            continue;
        };
        match replicas.read_inbox(reader).await {
            Ok(notes) => {
                let Some(front) = front.upgrade() else { return };
                notes.into_iter().for_each(|note| front.take_note(note, &running));
            }
            Err(error) => {
                tracing::debug!("no notes from other proxies: {error}");
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        }
    }
}

impl HttpFront {
    fn take_news(self: &Arc<Self>, news: News) {
        match news {
            News::Ended { session } => {
                let Some(session) = SessionDigest::parse(&session) else { return };
                self.server.end_sessions(self.sessions.remove_by_digest(session));
            }
            News::EndedUntil { person, born } => {
                self.server.end_sessions(self.sessions.remove_born_until(&person, born));
            }
            News::Changed { session } => {
                let known = SessionDigest::parse(&session).and_then(|digest| self.sessions.by_digest(digest));
                let Some(session) = known else { return };
                let front = Arc::clone(self);
                tokio::spawn(async move {
                    let principal = session.client().principal.clone();
                    if let Ok(known) = front.server.replicas.session(session.digest(), &principal).await {
                        apply(&front, &session, &known);
                    }
                });
            }
            News::Cancelled { session, person, params } => {
                if let Some(session) = self.session_of(&session, &person) {
                    session.in_flight.cancel(&params);
                }
            }
        }
    }

    /// The session in the table that a note names, if it is one of this person.
    fn session_of(&self, digest: &str, person: &str) -> Option<Arc<super::Session>> {
        let session = self.sessions.by_digest(SessionDigest::parse(digest)?)?;
        (Owner::of_handles(&session.client().principal).text("") == person).then_some(session)
    }

    /// Asks the store for each session in the table. False if the store is away.
    async fn ask_for_all(&self) -> bool {
        for session in self.sessions.all() {
            let principal = session.client().principal.clone();
            match self.server.replicas.session(session.digest(), &principal).await {
                Ok(known) => drop(apply(self, &session, &known)),
                Err(_) => return false,
            }
        }
        true
    }

    fn take_note(self: &Arc<Self>, note: HomeNote, running: &Running) {
        match note {
            HomeNote::Response { session, person, message } => {
                let response = Message::parse(message.get().as_bytes());
                if let (Some(session), Ok(Message::Response(response))) = (self.session_of(&session, &person), response)
                {
                    session.take_response(response);
                }
            }
            HomeNote::Wanted { connection } => self.server.replicas.take_wish(&connection),
            HomeNote::Request { number, from, request } => {
                let front = Arc::clone(self);
                let running = Arc::clone(running);
                self.forwarded.spawn(async move { front.answer_forwarded(number, from, *request, &running).await });
            }
            HomeNote::Withdrawn { number, from } => {
                if let Some(cancel) = running.lock().get(&(from, number)) {
                    cancel.cancel(None);
                }
            }
            HomeNote::Answer { number, answer } => self.server.replicas.take_answer(number, answer),
        }
    }

    /// Answers a request that another process has received.
    async fn answer_forwarded(
        self: Arc<Self>,
        number: u64,
        from: String,
        request: ForwardedRequest,
        running: &Running,
    ) {
        let Some(sender) = Home::parse(&from) else { return };
        let cancel = Cancellation::default();
        running.lock().insert((from.clone(), number), cancel.clone());
        let answer = self.answer_to(request, cancel).await.unwrap_or(ForwardedAnswer::Refused);
        running.lock().remove(&(from, number));
        if self.server.replicas.send(sender, &HomeNote::Answer { number, answer }).await.is_err() {
            tracing::warn!("an answer did not reach the proxy that waits for it");
        }
    }

    async fn answer_to(&self, forwarded: ForwardedRequest, cancel: Cancellation) -> Option<ForwardedAnswer> {
        let Ok(Message::Request(request)) = Message::parse(forwarded.message.get().as_bytes()) else { return None };
        let principal = Principal::from(forwarded.principal);
        let facts = HttpFacts {
            headers: forwarded.headers.into(),
            peer: forwarded.peer,
            hops: forwarded.hops,
            ..HttpFacts::default()
        };
        let client = match &forwarded.session {
            Some(id) => {
                let session = by_id(self, id, &principal).await.ok()?;
                Client { facts, ..Client::clone(&session.client_of(&principal)) }
            }
            None => {
                let client = admit(&request, None, principal, None).ok()?;
                Client { facts, links: self.server.links.of(&client.principal), ..client }
            }
        };
        let outcome =
            methods::answer(&self.server, &Arc::new(client), &MessageSink::Discard, &request, cancel, None).await;
        let Some(outcome) = outcome else { return Some(ForwardedAnswer::Cancelled) };
        let response = proxy_json::valid(encode::outcome(&request.id, &outcome)).ok()?;
        Some(ForwardedAnswer::Response(response))
    }
}
